/** Who has paused a lock, why, since when and until when: epoch milliseconds by the store's clock. */
export interface PausedBy {
  readonly actor: string;
  readonly reason?: string;
  readonly since: number;
  readonly until: number;
}

/** A pause, as the document of its lock has it. */
export interface Pause extends PausedBy {
  /** That of its entry in the history. */
  readonly id: number;
}

/** A pause to make. Plain data. */
export interface NewPause extends Pick<Pause, 'id' | 'actor' | 'reason'> {
  /** How long it lasts, whole milliseconds. */
  readonly length: number;
}

/** A pause as people see it. */
export const withoutId = ({ id: _id, ...paused }: Pause): PausedBy => paused;

/** A pause in the place of a holder, for people. */
export const pauseText = ({ actor, reason, until }: PausedBy): string =>
  `paused until ${new Date(until).toISOString().replace(/\.\d+Z$/, 'Z')} by ${actor}${reason === undefined ? '' : `: ${reason}`}`;
