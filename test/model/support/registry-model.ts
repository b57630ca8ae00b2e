import { type Beat, INSTANCES_KEPT } from '../../../lib/contract/history-store.js';

/** What rule 18 says of instances and their lists of jobs. */
export class RegistryModel {
  now = 0;
  readonly #beats = new Map<string, { readonly beat: Beat; readonly time: number }>();
  readonly #lists = new Map<string, Beat['jobs']>();

  /** Whether the list of jobs has to be known; `undefined`: nobody who is remembered has it, so it may be forgotten. */
  knows({ catalogue }: Beat): boolean | undefined {
    if (!this.#lists.has(catalogue)) return false;
    return this.seen().some(({ beat }) => beat.catalogue === catalogue) ? true : undefined;
  }

  /** Keeps a beat whose list is known. */
  beat({ jobs, ...beat }: Beat): void {
    if (jobs !== undefined) this.#lists.set(beat.catalogue, jobs);
    this.#beats.set(beat.instance, { beat, time: this.now });
  }

  /** The instances that are remembered, with how long ago each was seen. */
  seen(): { readonly beat: Beat; readonly jobs: Beat['jobs']; readonly ago: number }[] {
    return [...this.#beats.values()]
      .map(({ beat, time }) => ({ beat, jobs: this.#lists.get(beat.catalogue), ago: this.now - time }))
      .filter(({ ago }) => ago < INSTANCES_KEPT);
  }
}
