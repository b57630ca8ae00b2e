/** The value for names beyond the limit, as in the semantic conventions of OpenTelemetry. */
export const OTHER = '_OTHER';

/** How many names that the application does not know are let through. */
const MAX_NAMES = 100;

/**
 * Limits the values of an attribute: each one is a time series of its own. Lets names through that the application knows, and the first
 * hundred others.
 */
export class Names {
  readonly #admitted = new Set<string>();
  #strangers = 0;

  /** @param knows whether a name is one of a limited number, such as those of decorated methods */
  constructor(private readonly knows: (name: string) => boolean = () => false) {}

  of(name: string | undefined): string {
    if (name === undefined) return OTHER;
    if (this.#admitted.has(name)) return name;
    if (!this.knows(name)) {
      if (this.#strangers >= MAX_NAMES) return OTHER;
      this.#strangers += 1;
    }
    this.#admitted.add(name);
    return name;
  }
}

/** What kind of error a job has thrown, without its text. */
export const errorType = (error: unknown): string => (error instanceof Error ? error.name : typeof error);
