import { at, instance, job, miss, NOW, run, type Told } from './fleet.js';

/*
 * The fleet of docs/observe/shell.md: the store was away at 03:00.
 */

const DAY = 86_400_000;
const SEND = 'InvoiceJobs.send';
const DIGEST = 'MailJobs.digest';
const REFRESH = 'RefreshJobs.refresh';
const [ONE, TWO] = ['api-7f9c:1:52ad01fe', 'api-8b21:1:9c3f7710'];

const jobs = [job(SEND, { schedule: '0 3 * * *' }), job(DIGEST, { schedule: '0 7 * * *' }), job(REFRESH)];
const missed = { reason: 'store-unavailable', count: 1, since: at(3, 0, 1), at: at(3, 4, 12) };
const started = at(12, 20, 1);

export const PAGE: Told = {
  instances: [
    instance(ONE, jobs, { startedAt: at(9) - DAY }),
    instance(TWO, jobs, { startedAt: at(9, 2) - DAY, clockOffset: -2_300 }),
  ],
  entries: [
    run(SEND, at(3) - DAY, { instance: TWO }),
    miss(SEND, at(3), { ...missed, instance: ONE }),
    miss(SEND, at(3), { ...missed, instance: TWO }),
    run(DIGEST, at(7) - DAY, { instance: ONE, duration: 3_100 }),
    run(DIGEST, at(7), {
      instance: ONE,
      outcome: 'failed',
      duration: 1_200,
      error: 'connect ECONNREFUSED 10.0.0.25:25',
    }),
    run(REFRESH, at(12, 10), { instance: TWO, duration: 48_000 }),
  ],
  locks: [
    {
      name: REFRESH,
      time: NOW,
      state: 'held',
      holder: ONE,
      since: started,
      expiresIn: 41_000,
      fencingToken: started * 1_000,
      job: REFRESH,
      jobs: [{ job: REFRESH, tick: at(12, 20), attempt: 1 }],
    },
  ],
};
