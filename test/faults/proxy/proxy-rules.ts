import { clearTimeout, setTimeout } from 'node:timers';
import type { Verdict } from './proxy-connection.js';

/** A fault that waits for a matching request or reply. */
export interface Fault {
  /** How often the fault was applied. */
  readonly count: number;
  /** Resolves when the fault was first applied. */
  readonly struck: Promise<void>;
  stop(): void;
}

type Rule<Subject> = (subject: Subject) => Verdict;

/** The faults and listeners for what goes in one direction. */
export class ProxyRules<Subject> {
  readonly #rules = new Set<Rule<Subject>>();

  /** Every rule sees every subject; the first that does not let it pass decides. */
  judge(subject: Subject): Verdict {
    const verdicts = [...this.#rules].map((rule) => rule(subject));
    return verdicts.find((verdict) => verdict !== 'pass') ?? 'pass';
  }

  listen(listener: (subject: Subject) => void): () => void {
    const rule: Rule<Subject> = (subject) => {
      listener(subject);
      return 'pass';
    };
    this.#rules.add(rule);
    return () => void this.#rules.delete(rule);
  }

  /** Gives `verdict` on the next `times` subjects that match. */
  fault(matches: (subject: Subject) => boolean, verdict: Verdict, times: number): Fault {
    let count = 0;
    let strike = (): void => undefined;
    const struck = new Promise<void>((resolve) => (strike = resolve));
    const rule: Rule<Subject> = (subject) => {
      if (count >= times || !matches(subject)) return 'pass';
      if (++count >= times) this.#rules.delete(rule);
      strike();
      return verdict;
    };
    this.#rules.add(rule);
    return {
      get count() {
        return count;
      },
      struck,
      stop: () => void this.#rules.delete(rule),
    };
  }

  waitFor(matches: (subject: Subject) => boolean, timeout: number, what: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const stop = this.listen((subject) => {
        if (!matches(subject)) return;
        stop();
        clearTimeout(limit);
        resolve();
      });
      const limit = setTimeout(() => {
        stop();
        reject(new Error(`Waited ${timeout} ms in vain for ${what} to go through the proxy`));
      }, timeout);
    });
  }
}
