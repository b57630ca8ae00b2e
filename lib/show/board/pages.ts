import { nextTurn } from '../../base/clock.js';
import type { JobFacts } from '../../insight/facts.js';
import { Times } from '../../insight/shown.js';
import { inTurns } from '../../insight/turns.js';
import type { ControlInfo, JobView } from '../../insight/types.js';
import { viewOf } from '../../insight/view.js';
import { why, whyUnknown } from '../../insight/why.js';
import type { Looked } from './data/looked.js';
import { HOURS, type Question } from './data/question.js';
import { Coming } from './data/strip.js';
import { type Answer, html, packed, unavailable } from './answer.js';
import type { Reading } from './api.js';
import { failureText, type Kept } from './shared.js';
import { each, type Markup, markup } from './views/markup.js';
import { attention } from './views/attention.js';
import { brokenPart, nothingKnown, pageOf } from './views/frame.js';
import { instances, locks } from './views/fleet.js';
import { acts, answer, job as jobPart, type Known, removedText } from './views/job.js';
import { filters, jobs, row, rowsOf, tabs } from './views/table.js';
import { brokenRow, type Scene } from './views/parts.js';
import { switches } from './views/switches.js';
import { type Age, toneOf, verdictOf } from './data/verdict.js';
import { verdictLine } from './views/verdict.js';

type Part = readonly [id: string, draw: () => Markup];

const HOUR = 3_600_000;
/** The part of a strip that is still to come, by what has passed. */
const AHEAD = 1 / 3;
/** All runs that are kept of one job. */
const ALL = 1_000;
/** How many acts of people are shown. */
const MOST_ACTS = 20;
/** How long one waits for what is kept of a job, ms. */
const JOB_LIMIT = 1_500;

/** What the store keeps of a job: or the names of all jobs, if no instance knows it. */
interface Read {
  readonly facts: JobFacts | { readonly names: string[] };
  readonly controls: readonly ControlInfo[];
}

/** Makes pages. Viewers who ask the same share a page: the work does not grow with the viewers. */
export class Pages {
  private readonly coming = new Coming();

  constructor(private readonly reading: Reading) {}

  /** The header `Age` says how old it is. */
  async page(question: Question, build: string): Promise<Answer> {
    const key = `page ${JSON.stringify(question)}`;
    const { value, age, failure } = await this.reading.shared.ask(key, () => this.#made(question, build));
    const { headers, ...page } = value ?? this.#nothing(question, build, failure);
    return { ...page, headers: { ...headers, age: String(Math.round(age / 1_000)) } };
  }

  #nothing(question: Question, build: string, failure = ''): Answer {
    const frame = { question, build, title: '(!) Jobs', tone: 'bad', isAway: true } as const;
    const parts = [nothingKnown(this.reading.source.label(), failure)];
    return unavailable(html(pageOf({ ...frame, parts }), 503));
  }

  async #made(question: Question, build: string): Promise<Answer> {
    const { value: looked, ...age } = await this.reading.look();
    if (looked === undefined) return this.#nothing(question, build, age.failure);
    const { job } = question;
    const kept = job === undefined ? undefined : await this.#kept(job);
    const isUnknown = kept?.value !== undefined && 'names' in kept.value.facts;
    return this.reading.shared.inLine(async () => {
      const scene = this.#scene(looked, question);
      const parts = await this.#drawn(scene, age, kept);
      const verdict = verdictOf(looked);
      const isAway = age.failure !== undefined;
      const count = isAway ? '(!) ' : verdict.attention > 0 ? `(${verdict.attention}) ` : '';
      const title = `${count}${job === undefined ? 'Jobs' : `${job} – jobs`}`;
      const tone = toneOf(verdict, age.failure);
      const body = pageOf({ question, build, title, tone, isAway, parts });
      return packed(html(body, isUnknown ? 404 : 200));
    });
  }

  #kept(job: string): Promise<Kept<Read>> {
    const read = async (): Promise<Read> => {
      const insight = await this.reading.source.insight();
      return { facts: await insight.facts(job), controls: await insight.controls({ job, limit: MOST_ACTS }) };
    };
    return this.reading.shared.ask(`job ${job}`, read, JOB_LIMIT);
  }

  #scene(looked: Looked, question: Question): Scene {
    const { traceUrl, control } = this.reading.source;
    const { now } = looked;
    const hours = question.hours ?? (question.job === undefined ? hoursFor(looked) : 168);
    const span = { from: now - hours * HOUR, now, to: now + hours * HOUR * AHEAD };
    const times = new Times(question.zone, now);
    const { coming } = this;
    return { looked, question, times, span, coming, traceUrl, control: control !== undefined };
  }

  /** The parts of a page, one after another. One that cannot be drawn says so. */
  async #drawn(scene: Scene, age: Age, kept?: Kept<Read>): Promise<Markup[]> {
    const parts = kept === undefined ? await this.#overview(scene) : jobParts(scene, kept);
    const drawn = [verdictLine(scene, age, this.reading.source.label())];
    for (const part of parts) {
      if (part === false) continue;
      const [id, draw] = part;
      await nextTurn();
      try {
        drawn.push(draw());
      } catch (error) {
        drawn.push(brokenPart(id, failureText(error)));
      }
    }
    return drawn;
  }

  async #overview(scene: Scene): Promise<(Part | false)[]> {
    const { looked, question } = scene;
    const rows = rowsOf(looked, question);
    const drawOne = (view: JobView): Markup => {
      const facts = looked.facts.get(view.job);
      if (facts === undefined) throw new Error('a broken record');
      return row(view, facts, scene);
    };
    const drawn = await inTurns(rows.shown, (view) => each([view], drawOne, brokenRow(4)));
    // The verdict says that there is nothing, and where to look.
    if (looked.jobs.length === 0)
      return looked.told.length === 0 ? [] : [['instances', () => instances(scene)]];
    return [
      looked.jobs.some((view) => view.attention) && ['attention', () => attention(scene)],
      ['find', () => markup`<div class="bar">${tabs(scene)}${filters(scene)}</div>`],
      ['jobs', () => jobs(scene, rows, drawn)],
      ['instances', () => instances(scene)],
      ['locks', () => locks(scene)],
    ];
  }
}

/** The parts of the page of a job, as far as the store has told of it by now. */
function jobParts(bare: Scene, { value, failure }: Kept<Read>): (Part | false)[] {
  const { looked, question, control } = bare;
  const { job = '', at = looked.now } = question;
  if (value === undefined) return [['job', () => brokenPart('job', failure ?? '')]];
  const { facts, controls } = value;
  if (!('known' in facts)) return [['answer', () => answer(bare, whyUnknown(job, facts.names.sort()), at)]];
  const view = viewOf(facts);
  // One that is up may have come after the look.
  const isThere =
    looked.jobs.some((one) => one.job === job) || facts.knownBy.some(({ state }) => state === 'up');
  const removed = isThere ? undefined : removedText(facts, looked.told, bare.times);
  const known: Known = { facts, view, controls, removed };
  const own = new Map([...looked.locks].filter(([name]) => name === view.lock));
  const scene: Scene = { ...bare, looked: { ...looked, locks: own, most: ALL } };
  return [
    question.at !== undefined && ['answer', () => answer(scene, why(facts, at), at, facts)],
    ['job', () => jobPart(scene, known)],
    control && facts.forgotten === undefined && ['switches', () => switches(scene, known)],
    controls.length > 0 && ['acts', () => acts(scene, known)],
    ['locks', () => locks(scene)],
  ];
}

/** The window that shows the oldest problem; a day if there is none. */
function hoursFor({ jobs: all, now }: Looked): number {
  const since = Math.min(...all.filter((view) => view.attention).map((view) => view.since ?? Infinity));
  if (since === Infinity) return 24;
  return HOURS.find((hours) => now - since < hours * HOUR * 0.95) ?? 168;
}
