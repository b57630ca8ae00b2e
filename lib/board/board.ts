import { type Answer, asset, html } from './answer.js';
import { Api } from './api.js';
import { BUILD, SCRIPT, STYLE } from './assets.js';
import { Pages } from './pages.js';
import { readQuestion } from './question.js';
import { Snapshots } from './snapshots.js';
import type { BoardSource } from './source.js';

/** So many entries of locks are read at a time: of each lock at least {@link LEAST}, at most {@link MOST}. */
const ENTRIES = 6_000;
const LEAST = 20;
const MOST = 200;

/** The page and its JSON. It only answers: who may ask has been decided before. */
export class Board {
  readonly api: Api;
  readonly #pages: Pages;
  /** How many jobs there were last: of fewer jobs more is read. */
  #jobs = ENTRIES / LEAST;

  constructor(source: BoardSource) {
    const snapshots = new Snapshots(async () => {
      const insight = await source.insight('UTC');
      const most = Math.max(LEAST, Math.min(MOST, Math.floor(ENTRIES / Math.max(1, this.#jobs))));
      const look = await insight.look(most);
      this.#jobs = look.jobs.length;
      return look;
    }, source.clock);
    this.#pages = new Pages(source, snapshots);
    this.api = new Api(source, snapshots);
  }

  /** The page, or one of its two assets. @param query without its question mark */
  async page(query: string): Promise<Answer> {
    const params = new URLSearchParams(query);
    const name = params.get('asset');
    if (name === 'board.js') return asset('text/javascript', SCRIPT);
    if (name === 'board.css') return asset('text/css', STYLE);
    const { body, status } = await this.#pages.page(readQuestion(params), BUILD);
    return html(body, status);
  }
}
