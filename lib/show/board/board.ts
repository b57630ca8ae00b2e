/*
 * lib/show/board: the page, and its JSON. Both show what insight says, computed once for all viewers, and hand the switches to control.
 * May not enter: stores, judgements of its own, anything computed for one viewer.
 * The package has one copy of this file, and of the files of this folder that this file imports: see tools/build.mjs. Both builds of the package
 * recognise each other's errors.
 */
import { createHash } from 'node:crypto';
import { type Answer, asset, fitting, json } from './answer.js';
import { apiAnswer, type Reading } from './api.js';
import { lookedAt, type Looked } from './data/looked.js';
import { Pages } from './pages.js';
import { readQuestion } from './data/question.js';
import { SCRIPT } from './script.js';
import { type BoardSource, type Kept, Shared } from './shared.js';
import { STYLE } from './style.js';
import { type Act, act } from './switches.js';

/** How many entries of all locks are read at a time: of each lock at least {@link LEAST}, and at most {@link MAX_RUNS}. */
const ENTRIES = 6_000;
const LEAST = 20;
const MAX_RUNS = 200;

/** How long one waits for the first look, ms: the page itself is waited for a little longer. */
const LOOK_LIMIT = 9_500;

/** Names what the assets are, so that a browser keeps them until they change. */
const BUILD = createHash('sha256').update(SCRIPT).update(STYLE).digest('base64url').slice(0, 10);
const ASSETS: ReadonlyMap<string, Answer> = new Map([
  ['board.js', asset('text/javascript', SCRIPT)],
  ['board.css', asset('text/css', STYLE)],
]);

/** Answers requests for the page and its JSON. The caller has checked who may ask. */
export class Board {
  readonly #reading: Reading;
  readonly #pages: Pages;
  /** How many jobs the last answer had. The fewer jobs, the more entries of each are read. */
  #jobs = ENTRIES / LEAST;

  constructor(private readonly source: BoardSource) {
    const shared = new Shared(source.clock);
    const look = (): Promise<Kept<Looked>> => shared.ask('look', () => this.#look(), LOOK_LIMIT);
    this.#reading = { source, shared, look };
    this.#pages = new Pages(this.#reading);
  }

  /** @param what below `api/v1`; absent: the page, or one of its two assets @param query without its question mark */
  answer(what: string | undefined, query: string, headers: Act['headers'] = {}): Promise<Answer> {
    return what === undefined ? this.page(query, headers) : apiAnswer(this.#reading, what, query);
  }

  async page(query: string, headers: Act['headers'] = {}): Promise<Answer> {
    const params = new URLSearchParams(query);
    const accepted = headers['accept-encoding'];
    const name = params.get('asset');
    if (name !== null) {
      const file = ASSETS.get(name);
      // An asset of another version would be kept under the name of this one.
      const isThis = file !== undefined && (params.get('v') ?? BUILD) === BUILD;
      return isThis ? fitting(file, accepted) : json({ error: 'This version has no such file.' }, 404);
    }
    return fitting(await this.#pages.page(readQuestion(params), BUILD), accepted);
  }

  /** Uses a switch for a person. */
  async act(request: Act): Promise<Answer> {
    const { control, clock } = this.source;
    if (control === undefined) return json({ error: 'This page only reads.' }, 404);
    return act(control, clock, request).finally(() => this.#reading.shared.expire());
  }

  async #look(): Promise<Looked> {
    const insight = await this.source.insight();
    const most = Math.max(LEAST, Math.min(MAX_RUNS, Math.floor(ENTRIES / Math.max(1, this.#jobs))));
    const look = await insight.look(most);
    this.#jobs = look.jobs.length;
    return lookedAt(look, most, this.source.clock.now());
  }
}
