import { atEndOfTurn } from '../clock.js';
import { Times } from '../insight/shown.js';
import { inTurns } from '../insight/turns.js';
import type { JobView } from '../insight/types.js';
import { type Cost, costOf } from './cost.js';
import { changesOf } from './changes.js';
import { DAY, FireFinder } from './fires.js';
import { lanesOf } from './lanes.js';
import { type Looked, NOTHING_KEPT } from './looked.js';
import type { Question } from './question.js';
import { failureText, type Snapshot, type Snapshots } from './snapshots.js';
import type { BoardSource } from './source.js';
import { h, renderToString } from './templates.js';
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
  draw(): h.JSX.Element | Promise<h.JSX.Element>;
}

/** A page, with its HTTP status. */
export interface Page {
  readonly body: string;
  readonly status: number;
}

/** How many pages are kept for others who ask the same. */
const MOST_KEPT = 64;

/** Makes pages. Viewers who ask the same of one answer of the store share a page: the work does not grow with the viewers. */
export class Pages {
  readonly #made = new WeakMap<Looked, Map<string, Promise<string[]>>>();
  /** The questions since the store was read last. */
  readonly #asked = new Map<string, Question>();
  readonly #fires = new FireFinder();

  constructor(
    private readonly source: BoardSource,
    private readonly snapshots: Snapshots,
  ) {}

  /** Answers the questions since the last answer of the store again, from the new one: whoever asks again need not wait. */
  async prepare(looked: Looked): Promise<void> {
    const asked = [...this.#asked.values()];
    this.#asked.clear();
    for (const question of asked) {
      const scene = this.#scene(looked, question);
      await this.#drawn(scene, this.#partsOf(scene));
    }
  }

  async page(question: Question, build: string): Promise<Page> {
    if (this.#asked.size < MOST_KEPT) this.#asked.set(keyOf(question), question);
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
    const made = await this.#drawn(scene, parts);
    const verdict = renderToString(this.#verdict(scene, snapshot));
    const title = question.job === undefined ? 'Jobs' : `${question.job} – jobs`;
    const isKnown = question.job === undefined || parts.some(({ id }) => id === 'job' || id === 'answer');
    return {
      body: pageOf({ ...frame, title, parts: [verdict, ...made], regions: parts }),
      status: isKnown ? 200 : 404,
    };
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

  #drawn({ looked, question }: Scene, parts: readonly Part[]): Promise<string[]> {
    const made = this.#made.get(looked) ?? new Map<string, Promise<string[]>>();
    this.#made.set(looked, made);
    const key = keyOf(question);
    const found = made.get(key) ?? drawn(parts);
    if (made.size < MOST_KEPT) made.set(key, found);
    return found;
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
      draw: async () => {
        const insight = await this.source.insight(question.zone);
        const why = await insight.why(job, at);
        return h(Answer, { scene, answer: why, at: at ?? looked.now });
      },
    };
    if (view === undefined) return kept.runs.length > 0 || at === undefined ? [] : [answer];
    return [
      ...(at === undefined ? [] : [answer]),
      { id: 'job', title: 'Job', draw: () => h(Job, { scene: own, view }) },
      ...(scene.control
        ? [{ id: 'switches', title: 'Switches', draw: () => h(Switches, { scene: own, view }) }]
        : []),
      lanesPart(own),
      firesPart(own, this.#fires),
      { id: 'locks', title: 'Locks', draw: () => h(Locks, { scene: own }) },
    ];
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
    { id: 'jobs', title: 'All jobs', draw: () => h(Jobs, { scene }) },
    { id: 'instances', title: 'Instances', draw: () => h(Instances, { scene }) },
    firesPart(scene, fires),
    { id: 'outages', title: 'Outages', draw: () => h(Outages, { scene, span }) },
    { id: 'locks', title: 'Locks', draw: () => h(Locks, { scene }) },
  ];
}

/** Draws one part after another. In between, other work of the process can run. */
async function drawn(parts: readonly Part[]): Promise<string[]> {
  const texts: string[] = [];
  for (const { id, draw } of parts) {
    await new Promise<void>((resolve) => atEndOfTurn(resolve));
    try {
      texts.push(renderToString(await draw()));
    } catch (error) {
      texts.push(renderToString(h(BrokenPart, { id, problem: failureText(error) })));
    }
  }
  return texts;
}
