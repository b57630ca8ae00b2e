import type { CheckName } from '../checker/check.js';

/** One way to break the library, and the check that has to notice. */
export interface Sabotage {
  /** The built file that is changed. */
  readonly file: string;
  readonly search: string | RegExp;
  readonly replace: string;
  readonly caughtBy: CheckName;
  /** The faults under which it shows. */
  readonly only: readonly string[];
  /** How long the run is, if what is wrong is seen only at its end, s. */
  readonly seconds?: number;
  /** How many short jobs it takes, at least. */
  readonly volley?: number;
  /** How many calls of each instance have to stand in line. */
  readonly callers?: number;
  /** A seed with which it shows soon. */
  readonly seed: number;
}

/** Ways to break it by their names. */
export type Sabotages = Readonly<Record<string, Sabotage>>;
