import 'reflect-metadata';
import { controlCases } from './support/control-cases.js';
import { EVENT_STORES } from './support/event-stores.js';

/* The switches, in short. On databases: control-databases. */

for (const [name, open] of EVENT_STORES.filter(([store]) => store === 'memory' || store === 'Redis'))
  controlCases(name, open);
