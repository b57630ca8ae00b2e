import { describe, expect, it } from '@jest/globals';
import { parseArguments } from '../../chaos/arguments.js';
import { HOOK, isQuiet, JOBS, LINE, MAX_OFFSET, VOLLEY, volleyJobs } from '../../chaos/jobs.js';
import { type Injection, makePlan, planLines } from '../../chaos/plan.js';

const options = { instances: 5, seconds: 600, seed: 42, dataLoss: true, only: [] };
const losing = new Set<string>(['store-wipe', 'store-flush', 'store-old-snapshot']);
/** Around these nothing else happens. */
const quiet = new Set<string>([...losing, 'store-clock']);

describe('the plan of a chaos run', () => {
  it('is the same for the same seed, and another one for another', () => {
    expect(makePlan(options)).toEqual(makePlan(options));
    expect(planLines(makePlan({ ...options, seed: 43 })).slice(1)).not.toEqual(
      planLines(makePlan(options)).slice(1),
    );
  });

  it('has every kind of fault, and clocks that differ', () => {
    const { injections, offsets } = makePlan(options);
    expect([...new Set(injections.map(({ fault }) => fault))].sort()).toEqual([
      'black-hole',
      'cut',
      'delay',
      'forget-scripts',
      'kill',
      'lose-replies',
      'lose-then-partition',
      'pause',
      'refuse',
      'rolling-restart',
      'store-clock',
      'store-flush',
      'store-freeze',
      'store-long-freeze',
      'store-old-snapshot',
      'store-restart',
      'store-wipe',
      'switch-break',
      'switch-pause',
      'throwing-logger',
    ]);
    expect(new Set(offsets).size).toBe(5);
    for (const offset of offsets) expect(Math.abs(offset)).toBeLessThanOrEqual(MAX_OFFSET);
  });

  it('has no data loss where none is wanted', () => {
    const { injections } = makePlan({ ...options, dataLoss: false });
    expect(injections.length).toBeGreaterThan(100);
    expect(injections.filter(({ fault }) => losing.has(fault))).toEqual([]);
  });

  it('freezes nobody and cuts nobody off while the store loses its data, or its clock is set', () => {
    const { injections } = makePlan(options);
    for (const loss of injections.filter(({ fault }) => quiet.has(fault))) {
      const near = injections.filter(
        ({ id, at, lasts }) =>
          id !== loss.id && at < loss.at + loss.lasts + 3_000 && at + lasts > loss.at - 3_000,
      );
      expect(near).toEqual([]);
    }
  });

  it('sets the clock of the store forward and back, by more than an interval', () => {
    const steps = makePlan({ ...options, only: ['store-clock'] }).injections.map(({ ahead = 0 }) => ahead);
    expect(Math.max(...steps)).toBeGreaterThan(2_000);
    expect(Math.min(...steps)).toBeLessThan(-2_000);
    for (const step of steps) expect(Math.abs(step)).toBeGreaterThan(2_000);
  });

  it('hits each tick once at most, for longer than three times the ttl', () => {
    const aimed = makePlan(options).injections.filter(({ tickOf }) => tickOf !== undefined);
    expect(aimed.length).toBeGreaterThan(5);
    for (const [index, { at, lasts }] of aimed.entries()) {
      expect(lasts).toBeGreaterThan(4_500);
      expect(at - (aimed[index - 1]?.at ?? -Infinity)).toBeGreaterThan(15_000);
    }
  });

  it('is the same but for what is left out', () => {
    const all = makePlan(options).injections.filter(({ fault }) => fault !== 'store-clock');
    const less = makePlan({ ...options, leftOut: new Map([['store-clock', 'no compiler']]) }).injections;
    const told = (injections: readonly Injection[]) =>
      injections.map(({ at, fault, lasts }) => ({ at, fault, lasts }));
    expect(told(less)).toEqual(told(all));
  });

  it('has faults in the midst of a volley, where there is one', () => {
    const inVolley = (volley: number) =>
      makePlan({ ...options, volley }).injections.filter(({ tickOf }) => tickOf === VOLLEY.job);
    expect(inVolley(0)).toEqual([]);
    const struck = inVolley(200);
    expect(struck.length).toBeGreaterThan(20);
    for (const fault of ['kill', 'pause', 'store-restart', 'store-freeze'])
      expect(struck.map((injection) => injection.fault)).toContain(fault);
    // The one who fires it first is hit, whoever that is then.
    for (const { after = -1, holderOf, instance } of struck) {
      expect(after).toBeGreaterThanOrEqual(0);
      expect({ holderOf, instance }).toEqual({});
    }
  });

  it('freezes nobody in a volley while the store loses its data, however long the volley is waited for', () => {
    const { injections } = makePlan({ ...options, volley: 200 });
    const waits = ({ tickOf }: Injection): number => (tickOf === VOLLEY.job ? VOLLEY.every : 0);
    for (const loss of injections.filter(({ fault }) => quiet.has(fault))) {
      const near = injections.filter(
        (one) =>
          one.tickOf === VOLLEY.job &&
          one.at < loss.at + loss.lasts + 3_000 &&
          one.at + waits(one) + one.lasts > loss.at - 3_000,
      );
      expect(near).toEqual([]);
    }
  });

  it('hits every second time the line, where there is one, and is the same otherwise', () => {
    const anHour = { ...options, seconds: 3_600 };
    const without = makePlan(anHour).injections;
    const { injections } = makePlan({ ...anHour, callers: 3 });
    const told = (all: readonly Injection[]) =>
      all.map(({ at, fault, lasts, instance, delay }) => ({ at, fault, lasts, instance, delay }));
    expect(told(injections)).toEqual(told(without));
    const ofOne = injections.filter(({ instance }) => instance !== undefined);
    const ofHead = ofOne.filter(({ headOf }) => headOf === LINE);
    const ofHolder = ofOne.filter(({ holderOf, headOf }) => holderOf === LINE && headOf === undefined);
    for (const { length } of [ofHead, ofHolder]) expect(length).toBeGreaterThan(ofOne.length / 8);
    expect(ofHead.length + ofHolder.length).toBeLessThan(ofOne.length);
    for (const fault of ['kill', 'pause', 'black-hole', 'lose-replies'])
      expect(ofHead.map((one) => one.fault)).toContain(fault);
    // Nobody else is frozen or cut off later than planned.
    const atWork = ofOne.filter(({ holderOf }) => holderOf === HOOK.lock);
    expect(new Set(atWork.map(({ fault }) => fault))).toEqual(new Set(['kill']));
    expect(planLines({ ...makePlan(options), injections })).toContainEqual(
      expect.stringMatching(/kill the first in line for line, or instance-\d for \d+ ms$/),
    );
  });

  it('says which fault waits for what', () => {
    const lines = planLines(makePlan({ ...options, volley: 200 }));
    expect(lines).toContainEqual(
      expect.stringMatching(/ s {2}kill \d+ ms after the next tick of volley-1 for \d+ ms$/),
    );
    expect(lines).toContainEqual(expect.stringMatching(/lose-then-partition at the next tick of first-twin/));
  });

  it('ends all instances at once only where that is asked for', () => {
    const { injections } = makePlan({ ...options, only: ['blackout', 'kill'] });
    expect(injections.map(({ fault }) => fault)).toContain('blackout');
    const [blackout] = injections.filter(({ fault }) => fault === 'blackout');
    expect(blackout).toMatchObject({ tickOf: JOBS.missed.job });
    expect(blackout).not.toHaveProperty('instance');
  });

  it('can be kept to some faults, and ends before the run does', () => {
    const { injections } = makePlan({ ...options, seconds: 30, only: ['pause'] });
    expect(new Set(injections.map(({ fault }) => fault))).toEqual(new Set(['pause']));
    expect(Math.max(...injections.map(({ at, lasts }) => at + lasts))).toBeLessThan(30_000);
  });
});

describe('nobody wants details of refusals', () => {
  const { every } = VOLLEY;
  const around = (tick: number) => [-MAX_OFFSET, 0, every / 2 - 1].map((late) => isQuiet(tick + late));

  it('in turns, for two volleys each, on all clocks', () => {
    const first = 1_800_000_000_000;
    const turns = Array.from({ length: 8 }, (_, i) => isQuiet(first + i * every));
    expect(turns).toEqual([...turns.slice(4), ...turns.slice(4)]);
    expect(turns.filter(Boolean)).toHaveLength(4);
    for (const [i, turn] of turns.entries()) expect(around(first + i * every)).toEqual([turn, turn, turn]);
    expect(turns.slice(1).filter((turn, i) => turn !== turns[i]).length).toBeLessThanOrEqual(4);
  });
});

describe('the jobs of a volley', () => {
  const jobs = volleyJobs(200);

  it('have a name and a lock of their own', () => {
    const all = [...Object.values(JOBS), ...jobs];
    expect(new Set(all.map(({ job }) => job)).size).toBe(all.length);
    const others = new Set<string>(Object.values(JOBS).map(({ lock }) => lock));
    expect(new Set(jobs.map(({ lock }) => lock)).size).toBe(200);
    expect(jobs.filter(({ lock }) => others.has(lock))).toEqual([]);
  });

  it('have the same ticks, and ask for none again: only then may an attempt want no details', () => {
    for (const { kind, every, rerun, catchUp } of jobs)
      expect({ kind, every, rerun, catchUp }).toEqual({ kind: 'cron', every: 5_000, rerun: 0, catchUp: 0 });
    expect(jobs[0]).toEqual(VOLLEY);
    expect(volleyJobs(0)).toEqual([]);
  });
});

describe('the arguments of a chaos run', () => {
  it('are those of the documentation, in either form', () => {
    expect(
      parseArguments(['--instances', '3', '--seconds=120', '--seed', '42', '--store', 'redis']),
    ).toMatchObject({
      instances: 3,
      seconds: 120,
      seed: 42,
      store: 'redis',
      dataLoss: true,
      only: [],
      volley: 0,
    });
    expect(
      parseArguments(['--no-data-loss', '--only', 'kill,pause', '--volley', '200', '--callers', '3']),
    ).toMatchObject({
      volley: 200,
      callers: 3,
      dataLoss: false,
      only: ['kill', 'pause'],
    });
  });

  it('name a store that there is', () => {
    expect(() => parseArguments(['--store', 'etcd'])).toThrow(
      '--store etcd: there is no such store. There are: mysql, postgres, redis',
    );
    expect(() => parseArguments(['--store', 'constructor'])).toThrow('no such store');
  });

  it('are refused if they are unknown, without a value, no number, or no fault', () => {
    expect(() => parseArguments(['--second', '3'])).toThrow('Unknown argument --second');
    expect(() => parseArguments(['--seed'])).toThrow('--seed: give a value');
    expect(() => parseArguments(['--instances', 'many'])).toThrow('--instances: give a whole number');
    expect(() => parseArguments(['--only', 'kil'])).toThrow(
      '--only kil: there is no such fault. There are: kill,',
    );
  });
});
