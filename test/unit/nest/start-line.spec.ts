import { describe, expect, it } from '@jest/globals';
import type { BoundJob } from '../../../lib/nest/bound-job.js';
import { startLine as lineOf } from '../../../lib/nest/start-warnings.js';

const where = { instance: 'web-1:123:abcd', store: 'Redis 127.0.0.1:6379' };
interface GuardedJob {
  readonly job: string;
  readonly scheduled: boolean;
  readonly enabled: boolean;
}
const startLine = (jobs: readonly GuardedJob[], at: Parameters<typeof lineOf>[2]): string | undefined => {
  const some = (scheduled: boolean): BoundJob[] =>
    jobs
      .filter((one) => one.scheduled === scheduled)
      .map(({ job: name, enabled }) => ({ job: name, settings: { enabled } }) as BoundJob);
  return lineOf(some(true), some(false), at);
};
const job = (name: string, given: Partial<GuardedJob> = {}): GuardedJob => ({
  job: name,
  scheduled: true,
  enabled: true,
  ...given,
});
const HERE = ': this is instance web-1:123:abcd, its locks are in Redis 127.0.0.1:6379';

describe('the line at the start', () => {
  it.each<[what: string, jobs: GuardedJob[], line: string]>([
    ['one job', [job('Mail.send')], `1 scheduled job runs on one instance at a time (Mail.send)${HERE}`],
    [
      'jobs, in the order in which they were found',
      [job('Mail.send'), job('Reports.build')],
      `2 scheduled jobs run on one instance at a time (Mail.send, Reports.build)${HERE}`,
    ],
    [
      'methods that nothing fires',
      [job('Mail.send', { scheduled: false })],
      `1 method runs on one instance at a time (Mail.send)${HERE}`,
    ],
    [
      'both',
      [job('Mail.again', { scheduled: false }), job('Mail.send'), job('Mail.more', { scheduled: false })],
      `1 scheduled job and 2 other methods run on one instance at a time (Mail.send, Mail.again, Mail.more)${HERE}`,
    ],
    [
      'no more names than can be read',
      Array.from({ length: 12 }, (_, i) => job(`job-${i + 1}`)),
      '12 scheduled jobs run on one instance at a time (job-1, job-2, job-3, job-4, job-5, job-6, job-7, job-8 and 4 more)' +
        HERE,
    ],
    [
      'some that are switched off here',
      [job('Mail.send', { enabled: false }), job('Reports.build')],
      `2 scheduled jobs run on one instance at a time (Mail.send, Reports.build), but not here (enabled: false): Mail.send${HERE}`,
    ],
    [
      'none that is not',
      [job('Mail.send', { enabled: false }), job('Reports.build', { enabled: false })],
      `2 scheduled jobs run on one instance at a time (Mail.send, Reports.build), but none of them here (enabled: false)${HERE}`,
    ],
  ])('tells of %s', (_what, jobs, line) => {
    expect(startLine(jobs, where)).toBe(line);
  });

  it('says whose turn it is where an election decides', () => {
    expect(startLine([job('Mail.send')], { ...where, leader: 'scheduler' })).toBe(
      `1 scheduled job runs on one instance at a time, which leads "scheduler" (Mail.send)${HERE}`,
    );
  });

  it('is none where nothing is guarded', () => {
    expect(startLine([], where)).toBeUndefined();
  });

  it('does not say of methods that nothing fires that the leader runs them', () => {
    const jobs = [job('Mail.send'), job('Mail.again', { scheduled: false })];
    expect(startLine(jobs, { ...where, leader: 'scheduler' })).not.toContain('leads');
    expect(startLine(jobs.slice(0, 1), { ...where, leader: 'scheduler' })).toContain('leads "scheduler"');
  });
});
