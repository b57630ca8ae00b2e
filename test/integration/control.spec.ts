import 'reflect-metadata';
import { controlCases } from './support/control-cases.js';
import { controlShutdownCases } from './support/control-shutdown-cases.js';
import { pauseCases } from './support/pause-cases.js';
import { QUEUED_CALL_STORES } from './support/queued-call-stores.js';

/* The switches on Redis. On the other stores, and runs through a pause: control-stores. */

for (const [name, open] of QUEUED_CALL_STORES.filter(([store]) => store === 'Redis')) {
  controlCases(name, open);
  pauseCases(name, open);
  controlShutdownCases(name, open);
}
