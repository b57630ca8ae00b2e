import { jest } from '@jest/globals';
import { eventsRace } from '../integration/support/events-race.js';

jest.setTimeout(600_000);

eventsRace(10_000);
