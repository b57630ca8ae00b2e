import { eventsRace } from './support/events-race.js';

/* Ten thousand of them run in test/faults/events-race.slow.ts. */

eventsRace(Number(process.env['ROUNDS'] ?? 400));
