import 'reflect-metadata';
import { controlCases } from './support/control-cases.js';
import { pauseCases } from './support/pause-cases.js';
import { QUEUED_CALL_STORES } from './support/queued-call-stores.js';
import { throughPauseCases } from './support/through-pause-cases.js';

/* The switches on databases. On other stores: control. */

for (const [name, open] of QUEUED_CALL_STORES.filter(([store]) => store !== 'memory' && store !== 'Redis')) {
  controlCases(name, open);
  pauseCases(name, open);
  throughPauseCases(name, open);
}
