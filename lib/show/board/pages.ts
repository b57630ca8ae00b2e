import { atEndOfTurn } from '../../base/clock.js';
import { Times } from '../../insight/shown.js';
import { inTurns } from '../../insight/turns.js';
import type { JobView } from '../../insight/types.js';
import { Answers } from './answers.js';
import { type Cost, costOf } from './data/cost.js';
import { changesOf } from './changes.js';
import { DAY, FireFinder } from './data/fires.js';
import { lanesOf } from './data/lanes.js';
import { type Looked, NOTHING_KEPT } from './data/looked.js';
import { PerLook } from './per-look.js';
import type { Question } from './data/question.js';
import { failureText, type Snapshot, type Snapshots } from './data/snapshots.js';
import type { BoardSource } from './source.js';
import { h, renderToString } from './views/templates.js';
import { Attention, MOST_ATTENTION } from './views/attention.js';
import { Changes } from './views/changes.js';
import { Fires } from './views/fires.js';
import { BrokenPart, NothingKnown, pageOf } from './views/frame.js';
import { Instances } from './views/instances.js';
import { Answer, Job } from './views/job.js';
import { Jobs } from './views/jobs.js';
import { Lanes } from './views/lanes.js';
import { Locks } from './views/locks.js';
import { Outages } from './views/outages.js';
import type { Scene } from './views/parts.js';
import { Running } from './views/running.js';
import { Switches } from './views/switches.js';
import { VerdictLine } from './views/verdict.js';

/** A part of a page: its data are computed first, then it is drawn. */
interface Part {
  readonly id: string;
  readonly title: string;
  /** What it depends on besides the answer of the store, and the question's zone and hours, which all links have. */
  readonly of?: readonly unknown[];
  draw(): h.JSX.Element | Promise<h.JSX.Element>;
}

/** A page, with its HTTP status. */
export interface Page {
  readonly body: string;
  readonly status: number;
}

/** A part, or parts, as drawn. What is broken is not kept: it is drawn anew for whoever asks next. */
interface Drawn<T> {
  readonly html: T;
  readonly isBroken: boolean;
}

/** How many questions are answered again before somebody asks, and how many pages and parts are kept for others who ask the same. */
const MOST_AGAIN = 64;
const MOST_PAGES = 200;
const MOST_PARTS = 1_000;

/** Makes pages. Viewers who ask the same of one answer of the store share a page: the work does not grow with the viewers. */
export class Pages {
  readonly #parts = new PerLook<Promise<Drawn<string>>>(MOST_PARTS);
  readonly #pages = new PerLook<Page>(MOST_PAGES);
  /** What the pages that are kept were made of. */
  #shown: Snapshot = { age: 0 };
  readonly #answers: Answers;
  /** The questions since the store was read last. */
  readonly #asked = new Map<string, Question>();
  readonly #fires = new FireFinder();

  constructor(
    private readonly source: BoardSource,
    private readonly snapshots: Snapshots,
  ) {
    this.#answers = new Answers(source);
  }

  /** Call this after a switch was used. */
  expire(): void {
    this.#answers.expire();
  }

  /** Answers the questions since the last answer of the store again, from the new one: whoever asks again need not wait. */
  async prepare(looked: Looked): Promise<void> {
    const asked = [...this.#asked.values()];
    this.#asked.clear();
    for (const question of asked) {
      const scene = this.#scene(looked, question);
      // An answer takes a read of the store: not before somebody asks.
      await this.#drawn(
        scene,
        this.#partsOf(scene).filter(({ id }) => id !== 'answer'),
      );
    }
  }

  async page(question: Question, build: string): Promise<Page> {
    if (this.#asked.size < MOST_AGAIN) this.#asked.set(keyOf(question), question);
    const snapshot = await this.snapshots.newest();
    const { looked, failure = 'no answer yet.' } = snapshot;
    const frame = { question, build, stale: snapshot.failure !== undefined };
    if (looked === undefined) {
      const part = renderToString(h(NothingKnown, { store: this.source.label(), failure }));
      return {
        body: pageOf({ ...frame, title: 'Jobs', parts: [part], regions: [], stale: true }),
        status: 503,
      };
    }
    const scene = this.#scene(looked, question);
    const parts = this.#partsOf(scene);
    const { html, isBroken } = await this.#drawn(scene, parts);
    const made = (shown: Snapshot): Page => {
      const verdict = renderToString(this.#verdict(scene, shown));
      const { job } = question;
      const title = job === undefined ? 'Jobs' : `${job} – jobs`;
      const isKnown = job === undefined || parts.some(({ id }) => id === 'job' || id === 'answer');
      const body = pageOf({ ...frame, title, parts: [verdict, ...html], regions: parts });
      return { body, status: isKnown ? 200 : 404 };
    };
    // Whole seconds: whoever asks within the same second gets the same page.
    const shown = { ...snapshot, age: Math.round(snapshot.age / 1_000) * 1_000 };
    if (isBroken) return made(shown);
    return this.#pages.of(this.#sameSecond(shown), [question], () => made(shown));
  }

  /** One object for all who ask within a second: when it has gone, so have the pages that nobody can get any more. */
  #sameSecond(shown: Snapshot): Snapshot {
    const { looked, age, failure } = this.#shown;
    if (looked !== shown.looked || age !== shown.age || failure !== shown.failure) this.#shown = shown;
    return this.#shown;
  }

  #scene(looked: Looked, question: Question): Scene {
    const { traceUrl } = this.source;
    return {
      looked,
      question,
      times: new Times(question.zone, looked.now),
      traceUrl,
      control: this.source.control !== undefined,
    };
  }

  #verdict(scene: Scene, { age, failure }: Snapshot): h.JSX.Element {
    return h(VerdictLine, { scene, age, failure, store: this.source.label() });
  }

  /** Draws one part after another. In between, other work of the process can run. */
  async #drawn(
    { looked, question: { zone, hours } }: Scene,
    parts: readonly Part[],
  ): Promise<Drawn<string[]>> {
    const html: string[] = [];
    let isBroken = false;
    for (const part of parts) {
      const key = [part.id, zone, hours, ...(part.of ?? [])];
      const made = await this.#parts.of(looked, key, () => drawn(part));
      html.push(made.html);
      if (!made.isBroken) continue;
      isBroken = true;
      this.#parts.forget(looked, key);
    }
    return { html, isBroken };
  }

  #partsOf(scene: Scene): Part[] {
    const { job } = scene.question;
    return job === undefined ? overview(scene, this.#fires) : this.#jobParts(scene, job);
  }

  #jobParts(scene: Scene, job: string): Part[] {
    const { looked, question } = scene;
    const { at } = question;
    const view = looked.jobs.find((each) => each.job === job);
    const kept = looked.kept.get(job) ?? NOTHING_KEPT;
    // The page of a job shows nothing of other jobs.
    const own: Scene = {
      ...scene,
      looked: { ...looked, ...kept, jobs: view ? [view] : [], locks: locksFor(looked, view?.lock) },
    };
    const answer: Part = {
      id: 'answer',
      title: 'Why',
      of: [job, at],
      draw: async () => {
        const { why, age } = await this.#answers.why(question.zone, job, at);
        return h(Answer, { scene, answer: why, age, at: at ?? looked.now });
      },
    };
    if (view === undefined) return kept.runs.length > 0 || at === undefined ? [] : [answer];
    const parts: Part[] = [
      { id: 'job', title: 'Job', draw: () => h(Job, { scene: own, view }) },
      ...(scene.control
        ? [{ id: 'switches', title: 'Switches', draw: () => h(Switches, { scene: own, view }) }]
        : []),
      lanesPart(own),
      firesPart(own, this.#fires),
      { id: 'locks', title: 'Locks', draw: () => h(Locks, { scene: own }) },
    ];
    return [...(at === undefined ? [] : [answer]), ...parts.map((part) => ({ ...part, of: [job] }))];
  }
}

function locksFor({ locks }: Looked, name: string | undefined): Looked['locks'] {
  const facts = name === undefined ? undefined : locks.get(name);
  return new Map(name !== undefined && facts !== undefined ? [[name, facts]] : []);
}

const keyOf = (question: Question): string => JSON.stringify(question);

const HOUR = 3_600_000;
const spanOf = ({ looked: { now }, question }: Scene): { from: number; to: number } => ({
  from: now - question.hours * HOUR,
  to: now,
});

const lanesPart = (scene: Scene): Part => ({
  id: 'lanes',
  title: 'Runs',
  draw: async () => {
    const span = spanOf(scene);
    return h(Lanes, { scene, span, lanes: await lanesOf(scene.looked.runs, scene.looked.told, span) });
  },
});

const firesPart = (scene: Scene, fires: FireFinder): Part => ({
  id: 'fires',
  title: 'Next',
  draw: async () => {
    const { now, jobs, ticks } = scene.looked;
    const found = await fires.of(jobs, now, ticks);
    return h(Fires, { scene, span: { from: now, to: now + DAY }, fires: found });
  },
});

const attentionPart = (scene: Scene): Part => ({
  id: 'attention',
  title: 'Attention',
  draw: async () => {
    const unwell = scene.looked.jobs.filter(({ attention }) => attention).slice(0, MOST_ATTENTION);
    const costs = await inTurns(unwell, (view) => costIfKnown(scene.looked, view));
    return h(Attention, { scene, costs: new Map(costs) });
  },
});

/** A record that is broken has no cost: the others have theirs. */
function costIfKnown(looked: Looked, view: JobView): (readonly [string, Cost])[] {
  try {
    return [[view.job, costOf(looked, view)]];
  } catch {
    return [];
  }
}

/** The page of all jobs: the most urgent part comes first. */
function overview(scene: Scene, fires: FireFinder): Part[] {
  const span = spanOf(scene);
  return [
    attentionPart(scene),
    {
      id: 'changes',
      title: 'Changes',
      draw: async () => h(Changes, { scene, span, changes: await changesOf(scene.looked, span.from) }),
    },
    lanesPart(scene),
    { id: 'running', title: 'Running', draw: () => h(Running, { scene }) },
    {
      id: 'jobs',
      title: 'All jobs',
      of: [scene.question.find, scene.question.skip],
      draw: () => h(Jobs, { scene }),
    },
    { id: 'instances', title: 'Instances', draw: () => h(Instances, { scene }) },
    firesPart(scene, fires),
    { id: 'outages', title: 'Outages', draw: () => h(Outages, { scene, span }) },
    { id: 'locks', title: 'Locks', draw: () => h(Locks, { scene }) },
  ];
}

async function drawn({ id, draw }: Part): Promise<Drawn<string>> {
  await new Promise<void>((resolve) => atEndOfTurn(resolve));
  try {
    return { html: renderToString(await draw()), isBroken: false };
  } catch (error) {
    return { html: renderToString(h(BrokenPart, { id, problem: failureText(error) })), isBroken: true };
  }
}
