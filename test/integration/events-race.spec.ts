import { eventsRace } from './support/events-race.js';

/* ROUNDS=10000 npm test -- test/integration/events-race --testTimeout 600000 takes minutes: see docs/guarantees.md. */

eventsRace(Number(process.env['ROUNDS'] ?? 400));
