import 'reflect-metadata';
import { controlCases } from './support/control-cases.js';
import { controlShutdownCases } from './support/control-shutdown-cases.js';
import { pauseCases } from './support/pause-cases.js';
import { QUEUED_CALL_STORES } from './support/queued-call-stores.js';
import { throughPauseCases } from './support/through-pause-cases.js';

/* The switches on each store; on Redis control shows those that are not here. */

for (const [name, open] of QUEUED_CALL_STORES) {
  throughPauseCases(name, open);
  if (name === 'Redis') continue;
  controlCases(name, open);
  pauseCases(name, open);
  controlShutdownCases(name, open);
}
