import { describe, expect, it } from '@jest/globals';
import { parseArguments } from '../../chaos/arguments.js';
import { MAX_OFFSET } from '../../chaos/jobs.js';
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

  it('can be kept to some faults, and ends before the run does', () => {
    const { injections } = makePlan({ ...options, seconds: 30, only: ['pause'] });
    expect(new Set(injections.map(({ fault }) => fault))).toEqual(new Set(['pause']));
    expect(Math.max(...injections.map(({ at, lasts }) => at + lasts))).toBeLessThan(30_000);
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
    expect(parseArguments(['--no-data-loss', '--only', 'kill,pause', '--volley', '200'])).toMatchObject({
      volley: 200,
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
