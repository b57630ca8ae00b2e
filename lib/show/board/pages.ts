import { nextTurn } from '../../base/clock.js';
import type { JobFacts } from '../../insight/facts.js';
import { type Member, upSince } from '../../insight/fleet-jobs.js';
import { Times } from './data/shown.js';
import { inTurns } from '../../insight/turns.js';
import type { ControlInfo, JobView } from '../../insight/types.js';
import { viewOf } from '../../insight/view.js';
import { why, whyUnknown } from '../../insight/why.js';
import { given } from '../../base/shared.js';
import type { Looked } from './data/looked.js';
import { HOURS, type Question } from './data/question.js';
import { Coming, stripOf } from './data/strip.js';
import { failureText, type Kept, type Shared } from './shared.js';
import type { BoardSource } from './source.js';
import { Fragment, h, renderToString } from './views/templates.js';
import { Attention } from './views/attention.js';
import { BrokenPart, NothingKnown, pageOf } from './views/frame.js';
import { Instances, Locks } from './views/fleet.js';
import { Acts, Answer, Job, type Known } from './views/job.js';
import { Filters, Jobs, Row, rowsOf, Tabs } from './views/table.js';
import { each, type Scene } from './views/parts.js';
import { Switches } from './views/switches.js';
import { type Age, toneOf, VerdictLine, verdictOf } from './views/verdict.js';

/** A page, with its HTTP status. */
export interface Page {
  readonly body: string;
  readonly status: number;
}

type Part = readonly [id: string, draw: () => h.JSX.Element];

const HOUR = 3_600_000;
/** The part of a strip that is still to come, by what has passed. */
const AHEAD = 1 / 3;
/** All runs that are kept of one job. */
const ALL = 1_000;
/** How many acts of people are shown. */
const MOST_ACTS = 20;
/** How long one waits for what is kept of a job, ms. */
const JOB_LIMIT = 1_500;

/** A job that no instance knows, beside those that are known. */
interface Unknown {
  readonly job: string;
  readonly names: string[];
  readonly failure?: string;
}

/** Makes pages. Viewers who ask the same share a page: the work does not grow with the viewers. */
export class Pages {
  readonly #coming = new Coming();

  constructor(
    private readonly source: BoardSource,
    private readonly shared: Shared,
    private readonly look: () => Promise<Kept<Looked>>,
  ) {}

  async page(question: Question, build: string): Promise<{ page: Page; age: number }> {
    const key = `page ${JSON.stringify(question)}`;
    const { value, age, isBusy } = await this.shared.ask(key, () => this.#made(question, build));
    const busy = 'Too many pages are asked for at this moment. Ask again in 2 s.';
    return { page: value ?? this.#nothing(question, build, isBusy ? busy : 'no answer yet.'), age };
  }

  #nothing(question: Question, build: string, failure: string): Page {
    const part = renderToString(h(NothingKnown, { store: this.source.label(), failure }));
    const frame = { question, build, title: '(!) Jobs', tone: 'bad', isAway: true } as const;
    return { body: pageOf({ ...frame, parts: [part] }), status: 503 };
  }

  async #made(question: Question, build: string): Promise<Page> {
    const { value: looked, ...shown } = await this.look();
    const { failure } = shown;
    if (looked === undefined) return this.#nothing(question, build, failure ?? 'no answer yet.');
    const { job } = question;
    const known = job === undefined ? undefined : await this.#known(job, looked);
    return this.shared.inLine(async () => {
      const scene = this.#scene(looked, question);
      const parts = known === undefined ? await this.#overview(scene) : this.#jobParts(scene, known);
      const drawn: string[] = [renderToString(this.#verdict(scene, shown))];
      for (const part of parts) {
        if (part === false) continue;
        await nextTurn();
        drawn.push(drawnOf(part));
      }
      const verdict = verdictOf(looked);
      const count = failure !== undefined ? '(!) ' : verdict.attention > 0 ? `(${verdict.attention}) ` : '';
      const title = `${count}${job === undefined ? 'Jobs' : `${job} – jobs`}`;
      const frame = { question, build, title, tone: toneOf(verdict, failure), isAway: failure !== undefined };
      return {
        body: pageOf({ ...frame, parts: drawn }),
        status: known !== undefined && 'names' in known ? 404 : 200,
      };
    });
  }

  /** All that is kept of a job: that takes a read of the store. If that fails, the look has less, and no answers. */
  async #known(job: string, looked: Looked): Promise<Known | Unknown> {
    const read = await this.shared.ask(`job ${job}`, () => this.#read(job), JOB_LIMIT);
    const { value, failure = 'no answer yet.' } = read;
    const facts = value?.facts ?? looked.facts.get(job);
    const problem = value === undefined ? { failure } : {};
    if (facts === undefined) return { job, names: looked.jobs.map((view) => view.job), ...problem };
    if (!('known' in facts)) return { job, names: facts.names.sort() };
    // One that is up may have come after the look.
    const isThere =
      looked.jobs.some((view) => view.job === job) || facts.knownBy.some(({ state }) => state === 'up');
    const removed = isThere ? {} : { removed: removedBy(facts, looked.told) };
    return { facts, view: viewOf(facts), controls: value?.controls ?? [], ...removed, ...problem };
  }

  async #read(
    job: string,
  ): Promise<{ facts: JobFacts | { readonly names: string[] }; controls: ControlInfo[] }> {
    const insight = await this.source.insight();
    return { facts: await insight.facts(job), controls: await insight.controls({ job, limit: MOST_ACTS }) };
  }

  #verdict(scene: Scene, { age, failure, isAway }: Age): h.JSX.Element {
    return h(VerdictLine, { scene, age, failure, isAway, store: this.source.label() });
  }

  #scene(looked: Looked, question: Question): Scene {
    const { traceUrl, control } = this.source;
    const { now } = looked;
    const hours = question.hours ?? (question.job === undefined ? hoursFor(looked) : 168);
    const span = { from: now - hours * HOUR, now, to: now + hours * HOUR * AHEAD };
    const times = new Times(question.zone, now);
    return { looked, question, times, span, traceUrl, control: control !== undefined };
  }

  async #overview(scene: Scene): Promise<(Part | false)[]> {
    const { looked, question } = scene;
    const rows = rowsOf(looked, question);
    const html = await inTurns(rows.shown, (view) => [renderToString(this.#row(view, scene))]);
    return [
      looked.jobs.some(({ attention }) => attention) && ['attention', () => h(Attention, { scene })],
      ['find', () => h('div', { class: 'bar' }, h(Tabs, { scene }), h(Filters, { scene }))],
      ['jobs', () => h(Jobs, { scene, rows, html: html.join('') })],
      ['instances', () => h(Instances, { scene })],
      ['locks', () => h(Locks, { scene })],
    ];
  }

  /** A record that is broken does not hide the others. */
  #row(view: JobView, scene: Scene): h.JSX.Element {
    const facts = scene.looked.facts.get(view.job);
    const draw = (): h.JSX.Element => {
      if (facts === undefined) throw new Error('a broken record');
      const strip = stripOf(facts, view, scene.span, scene.looked.most, this.#coming);
      return h(Row, { view, strip, scene });
    };
    return h(Fragment, null, each([view], draw, 4));
  }

  #jobParts(bare: Scene, known: Known | Unknown): (Part | false)[] {
    const { looked, span, question, control } = bare;
    const { at = looked.now } = question;
    const answer = (draw: () => h.JSX.Element): Part => ['answer', () => drawnUnless(known.failure, draw)];
    if ('names' in known) {
      const unknown = whyUnknown(known.job, known.names);
      return [answer(() => h(Answer, { scene: bare, why: unknown, at }))];
    }
    const { facts, view, controls, removed } = known;
    const { lock = '' } = view;
    const strip = stripOf(facts, view, span, ALL, this.#coming);
    const locks = new Map([...looked.locks].filter(([name]) => name === lock));
    const scene: Scene = { ...bare, looked: { ...looked, locks } };
    return [
      question.at !== undefined && answer(() => h(Answer, { scene, why: why(facts, at), facts, at })),
      ['job', () => h(Job, { scene, known, strip })],
      control && removed === undefined && ['switches', () => h(Switches, { scene, known })],
      controls.length > 0 && ['acts', () => h(Acts, { scene, known })],
      ['locks', () => h(Locks, { scene })],
    ];
  }
}

function drawnUnless(failure: string | undefined, draw: () => h.JSX.Element): h.JSX.Element {
  if (failure !== undefined) throw new Error(failure);
  return draw();
}

/** The window that shows the oldest problem; a day if there is none. */
function hoursFor({ jobs, now }: Looked): number {
  const since = Math.min(...jobs.filter(({ attention }) => attention).map((view) => view.since ?? Infinity));
  if (since === Infinity) return 24;
  return HOURS.find((hours) => now - since < hours * HOUR * 0.95) ?? 168;
}

/** The first one of its application that started after it without it, and is up. */
function removedBy({ knownBy: [last] }: JobFacts, told: readonly Member[]): Known['removed'] {
  const application = told.find(({ info }) => info.instance === last?.instance)?.info.application;
  const [by] = told
    .filter(({ info, jobs }) => {
      const isNext = info.application === application && upSince(info) > (last?.startedAt ?? 0);
      return info.state === 'up' && isNext && !jobs.some(({ job }) => job === last?.job.job);
    })
    .sort((one, other) => upSince(one.info) - upSince(other.info));
  return by === undefined ? {} : { at: upSince(by.info), ...given({ version: by.info.version }) };
}

function drawnOf([id, draw]: Part): string {
  try {
    return renderToString(draw());
  } catch (error) {
    return renderToString(h(BrokenPart, { id, problem: failureText(error) }));
  }
}
