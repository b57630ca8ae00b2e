import type { MissEntry } from '../../../lib/contract/history-store.js';
import { until } from '../../support/until.js';
import { GRACE, LEAD, type Member, type MemberSettings, type Stage } from './incident-stage.js';

/*
 * How the incidents come about. Each story ends when nothing more happens to the fleet, and answers with the instances whose health and
 * metrics are to be looked at.
 */

export type Story = (stage: Stage) => Promise<Member[]>;

/** A store that answers that late, ms, which is later than the instances wait for it, and longer than some tries. */
const LATE = 4_000;
const STORE_TIMEOUT = 1_000;
const HOUR = 3_600_000;

const WEB = { job: { enabled: false } } as const;
const WITH_TICKS = { insight: { beat: 'with-ticks' } } as const;

/** The store is away when the tick comes, and is back soon after it. */
async function cutOff(stage: Stage, member: Member): Promise<void> {
  stage.inTime();
  await stage.place.proxy.refuse();
  await until(() => skipped(member), { message: 'the tick to be skipped' });
  await stage.place.proxy.refuse(false);
}

const skipped = (member: Member): boolean =>
  member.heard('event:skipped').some(({ reason }) => reason === 'store-unavailable');

export const outage: Story = async (stage) => {
  const [api] = (await stage.load(0)) as [Member];
  stage.choose();
  await stage.start(api, 'api', { way: 'proxied' });
  await api.runYesterday();
  await cutOff(stage, api);
  return [api];
};

export const firstTickLost: Story = async (stage) => {
  const [api] = (await stage.load(0)) as [Member];
  stage.choose();
  await stage.start(api, 'api', { way: 'proxied' });
  await cutOff(stage, api);
  return [api];
};

export const slowStore: Story = async (stage) => {
  const [api] = (await stage.load(0)) as [Member];
  stage.choose();
  await stage.start(api, 'api', { way: 'proxied', storeTimeout: STORE_TIMEOUT, ttl: '30s' });
  stage.inTime();
  stage.place.proxy.delay(LATE, 'replies');
  await until(() => skipped(api), { message: 'the tick to be skipped' });
  return [api];
};

/** The first one to hang. The other one takes over when the lease is over, and finds it so. */
export const hangsEverywhere: Story = async (stage) => {
  const fleet = (await stage.load(0, 0)) as [Member, Member];
  const job = { schedule: '*/2 * * * * *', stays: true, timeout: '500ms' } as const;
  await Promise.all(fleet.map((member, index) => stage.start(member, `api-${index + 1}`, { job })));
  await Promise.all(fleet.map((member) => member.next('job-started')));
  return fleet.filter((member) => member.heard('event:interrupted').length === 0);
};

type Web = MemberSettings & { readonly offset?: number };

/** Instances with the job switched off, and one worker, which is killed before the tick. */
async function workerDies(stage: Stage, ...webs: Web[]): Promise<Member[]> {
  const offsets = webs.map(({ offset = 0 }) => offset);
  const [worker, ...others] = (await stage.load(0, ...offsets)) as [Member, ...Member[]];
  stage.choose();
  const { insight } = webs[0] ?? {};
  await stage.start(worker, 'worker', insight === undefined ? {} : { insight });
  const start = (web: Member, index: number) => {
    const { offset: _, ...settings } = webs[index] ?? {};
    return stage.start(web, `web-${index + 1}`, { ...WEB, ...settings });
  };
  await Promise.all(others.map(start));
  stage.inTime();
  await worker.kill();
  return others;
}

export const onlyWorkerDies: Story = (stage) => workerDies(stage, {});

export const onlyWorkerDiesClockBehind: Story = (stage) => workerDies(stage, { offset: -HOUR / 2 });

export const onlyWorkerDiesWithTicks: Story = (stage) => workerDies(stage, WITH_TICKS);

/** The alert takes the least of what all say. */
export const newcomer: Story = async (stage) => {
  const [late] = (await stage.load(0)) as [Member];
  const [web] = (await workerDies(stage, {})) as [Member];
  await web.next('event:overdue');
  await stage.start(late, 'web-late', WEB);
  return [web, late];
};

/** The first one to note the miss dies before it has told anybody. */
export const tellerDies: Story = async (stage) => {
  const [first, second] = (await workerDies(stage, {}, { overdue: 2 * GRACE })) as [Member, Member];
  const noted = async (): Promise<boolean> => {
    const entries = (await stage.place.store.history?.entries({ name: 'nightly', limit: 10 })) ?? [];
    return entries.some((entry): entry is MissEntry => entry.type === 'miss' && entry.instance === 'web-1');
  };
  await until(noted, { message: 'the miss to be noted' });
  await first.kill();
  if (first.heard('event:overdue').length > 0) throw new Error('It has told before it could be killed');
  return [second];
};

export const allDown: Story = async (stage) => {
  const [old, fresh] = (await stage.load(0, 0)) as [Member, Member];
  stage.choose();
  await stage.start(old, 'old');
  stage.inTime();
  await old.leave();
  stage.inTime();
  await stage.pass();
  await stage.start(fresh, 'fresh');
  return [fresh];
};

export const restartUnderItsId: Story = async (stage) => {
  const [before, after] = (await stage.load(0, 0)) as [Member, Member];
  stage.choose();
  await stage.start(before, 'job-0');
  await before.runYesterday();
  stage.inTime();
  await before.kill();
  await stage.pass();
  await stage.start(after, 'job-0');
  return [after];
};

/** Monday's run is killed, and nobody is up when Tuesday's tick comes. */
export const interruptedThenMissed: Story = async (stage) => {
  const [before, after] = (await stage.load(0, 0)) as [Member, Member];
  stage.choose();
  await stage.start(before, 'before', { job: { stays: true } });
  await before.runYesterday({ stays: true });
  stage.inTime();
  await before.kill();
  await stage.pass();
  await stage.start(after, 'after');
  return [after];
};

/** @param lead how long before the tick, if not as long as usual */
async function killedInTheMiddle(stage: Stage, lead?: number): Promise<Member> {
  const [before, after] = (await stage.load(0, 0)) as [Member, Member];
  stage.choose(lead);
  await stage.start(before, 'before', { job: { stays: true } });
  await before.runYesterday({ stays: true });
  await before.kill();
  // Its lease ends by itself.
  const lock = async () => (await stage.place.store.inspect?.(['nightly']))?.[0];
  await until(async () => (await lock())?.state === 'free', { message: 'the lease to end' });
  await stage.start(after, 'after');
  return after;
}

/** Until its tick, which comes later than anybody looks. */
export const interrupted: Story = async (stage) => [await killedInTheMiddle(stage, HOUR)];

export const interruptedThenRun: Story = async (stage) => {
  const after = await killedInTheMiddle(stage, 2 * LEAD);
  stage.inTime();
  await after.next('event:released');
  return [after];
};

export const runsEverywhere: Story = async (stage) => {
  const [api] = (await stage.load(0)) as [Member];
  stage.choose();
  await stage.start(api, 'api', { job: { oncePerTick: false } });
  stage.inTime();
  await api.next('event:released');
  await stage.pass(2);
  return [api];
};

/** A deploy switches it off before its tick. */
export const switchedOff: Story = async (stage) => {
  const [old, fresh] = (await stage.load(0, 0)) as [Member, Member];
  stage.choose();
  await stage.start(old, 'old');
  await old.runYesterday();
  await Promise.all([stage.start(fresh, 'fresh', WEB), old.leave()]);
  stage.inTime();
  await stage.pass(2);
  return [fresh];
};

export const clockAhead: Story = async (stage) => {
  const [api] = (await stage.load(HOUR)) as [Member];
  stage.choose();
  await stage.start(api, 'api');
  stage.inTime();
  return [api];
};

export const clockBehind: Story = async (stage) => {
  const [api] = (await stage.load(-HOUR / 2)) as [Member];
  stage.choose();
  await stage.start(api, 'api');
  stage.inTime();
  await stage.pass(2);
  return [api];
};

export const twoZones: Story = async (stage) => {
  const [api, other] = (await stage.load(0, 0)) as [Member, Member];
  await stage.start(api, 'api', { job: { schedule: '0 0 1 1 *' } });
  await stage.start(other, 'other', { job: { schedule: '0 0 1 1 *', timeZone: 'Asia/Kolkata' } });
  return [other];
};
