import { afterThis } from '../../base/clock.js';

/** A question, and who is told the answer. */
export interface Asked<Question, Answer> {
  readonly question: Question;
  readonly answered: (answer: Answer) => void;
  readonly failed: (error: unknown) => void;
}

/** Gathers the questions of one moment. */
export class Together<Question, Answer> {
  #asked: Asked<Question, Answer>[] = [];

  /** @param atOnce how many are answered at once @param answer if it rejects, those fail that are not answered yet */
  constructor(
    private readonly atOnce: number,
    private readonly answer: (asked: readonly Asked<Question, Answer>[]) => Promise<void>,
  ) {}

  ask(question: Question): Promise<Answer> {
    return new Promise((answered, failed) => {
      if (this.#asked.push({ question, answered, failed }) === 1) afterThis(this.#send);
    });
  }

  readonly #send = (): void => {
    const all = this.#asked;
    this.#asked = [];
    for (const some of partsOf(all, this.atOnce))
      this.answer(some).catch((error: unknown) => {
        for (const { failed } of some) failed(error);
      });
  };
}

/** Answers questions one by one with what they are answered with together. An error fails its own. */
export const each =
  <Question, Answer>(answers: (questions: readonly Question[]) => Promise<readonly (Answer | Error)[]>) =>
  async (asked: readonly Asked<Question, Answer>[]): Promise<void> => {
    const all = Array.from(await answers(asked.map(({ question }) => question)));
    asked.forEach(({ answered, failed }, i) => {
      const answer = all[i] as Answer | Error;
      if (answer instanceof Error) failed(answer);
      else answered(answer);
    });
  };

/** Some at a time. */
export function* partsOf<T>(all: readonly T[], size: number): Iterable<readonly T[]> {
  for (let i = 0; i < all.length; i += size) yield all.slice(i, i + size);
}
