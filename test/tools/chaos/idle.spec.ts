import { describe, expect, it } from '@jest/globals';
import { HandMade } from './support/hand-made.js';

const lease = { i: 'instance-1', n: 1, lock: 'lock', token: 7, job: 'job' };
const confirmed = (m: number) => ({ k: 'confirmed', m, until: m + 1_978, ...lease }) as const;

describe('a lease that lives on without its job is caught', () => {
  it('if it never had one', () => {
    const bad = new HandMade().add(confirmed(1_000), confirmed(1_600), confirmed(2_200));
    expect(bad.check('idle').violations).toEqual([
      'the lease of job on instance-1.1 (fencing token 7) was renewed for 1200 ms without a run',
    ]);
  });

  it('if its run has ended', () => {
    const times = [
      [1_000, 2_978],
      [1_600, 3_578],
      [2_200, 4_178],
    ] as const;
    const bad = new HandMade().run({ at: 1_000, token: 1, ends: 1_650, confirmed: times });
    expect(bad.check('idle').violations).toEqual([
      expect.stringContaining('was still renewed 550 ms after the run had ended'),
    ]);
  });

  it('but not if its process died as the job began, or was renewed as it ended', () => {
    const times = [
      [1_000, 2_978],
      [1_600, 3_578],
    ] as const;
    const good = new HandMade().add({ ...confirmed(5_000), token: 8 }).kill('instance-1', 5_001);
    const finding = good.run({ at: 1_000, token: 1, ends: 1_590, confirmed: times }).check('idle');
    expect(finding).toMatchObject({ violations: [], counts: { leases: 2 } });
  });
});

it('a call that fails is caught, and an error that nobody caught', () => {
  const life = { i: 'instance-1', n: 1 };
  const bad = new HandMade()
    .add({ k: 'rejected', m: 3_000, ...life, job: 'job', call: 3, error: 'Error: it is broken' })
    .add({ k: 'uncaught', m: 3_001, ...life, error: 'Error: so it is' });
  expect(bad.check('idle').violations).toEqual([
    'a call of job failed on instance-1.1 at 3000: Error: it is broken',
    'an error was caught by nobody on instance-1.1 at 3001: Error: so it is',
  ]);
});
