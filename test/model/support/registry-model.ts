import { type Beat, INSTANCES_KEPT } from '../../../lib/contract/history-store.js';

const DAY = 86_400_000;

/** What rule 18 says of instances and their lists of jobs. */
export class RegistryModel {
  now = 0;
  readonly #beats = new Map<string, { readonly beat: Beat; readonly time: number }>();
  readonly #lists = new Map<string, { readonly jobs: Beat['jobs']; readonly time: number }>();

  /** Whether the list of jobs has to be known; `undefined`: it came a day ago, or nobody who is remembered has it, so it may count as unknown. */
  knows({ catalogue }: Beat): boolean | undefined {
    const list = this.#lists.get(catalogue);
    if (list === undefined) return false;
    if (this.now - list.time >= DAY) return undefined;
    return this.seen().some(({ beat }) => beat.catalogue === catalogue) ? true : undefined;
  }

  /** Whether a brief beat has to be kept; `undefined`: the last one of its instance is just about to be forgotten. */
  knowsBeat({ instance, catalogue }: Beat): boolean | undefined {
    const last = this.#beats.get(instance);
    const ago = this.now - (last?.time ?? -Infinity);
    if (last?.beat.catalogue !== catalogue) return false;
    return Math.abs(ago - INSTANCES_KEPT) < 1_000 ? undefined : ago < INSTANCES_KEPT;
  }

  /** Keeps a beat whose list is known. */
  beat({ jobs, ...beat }: Beat): void {
    if (jobs !== undefined) this.#lists.set(beat.catalogue, { jobs, time: this.now });
    this.#beats.set(beat.instance, { beat, time: this.now });
  }

  /** The instances that are remembered, with how long ago each was seen. */
  seen(): { readonly beat: Beat; readonly jobs: Beat['jobs']; readonly ago: number }[] {
    return [...this.#beats.values()]
      .map(({ beat, time }) => ({ beat, jobs: this.#lists.get(beat.catalogue)?.jobs, ago: this.now - time }))
      .filter(({ ago }) => ago < INSTANCES_KEPT);
  }
}
