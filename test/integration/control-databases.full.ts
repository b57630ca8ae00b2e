import 'reflect-metadata';
import { controlCases } from './support/control-cases.js';
import { EVENT_STORES } from './support/event-stores.js';

/* The switches on databases. On other stores: control. */

for (const [name, open] of EVENT_STORES.filter(([store]) => store !== 'memory' && store !== 'Redis'))
  controlCases(name, open);
