// Not the global timers: a test that installs fake timers still waits for real processes.
import { setTimeout as sleep } from 'node:timers/promises';

export interface UntilOptions {
  /** Milliseconds after which to give up. @default 20_000 */
  timeout?: number;
  /** Milliseconds between two looks. @default 5 */
  interval?: number;
  /** The awaited condition, for the error. A function is called at the end, for the latest facts. */
  message?: string | (() => string);
}

type Truthy<T> = Exclude<T, false | 0 | 0n | '' | null | undefined>;

/**
 * Checks `condition` until it is truthy, and resolves to that value. A condition that throws counts as "not
 * yet"; its last error is the `cause` of the failure.
 */
export async function until<T>(
  condition: () => T | Promise<T>,
  { timeout = 20_000, interval = 5, message = 'the condition' }: UntilOptions = {},
): Promise<Truthy<Awaited<T>>> {
  const deadline = performance.now() + timeout;
  for (;;) {
    let failure: unknown;
    try {
      const value = await condition();
      if (value) return value as Truthy<Awaited<T>>;
    } catch (error) {
      failure = error;
    }
    if (performance.now() >= deadline) throw gaveUp(message, timeout, failure);
    await sleep(interval);
  }
}

function gaveUp(message: string | (() => string), timeout: number, failure: unknown): Error {
  const what = typeof message === 'function' ? message() : message;
  if (failure === undefined) return new Error(`Waited ${timeout} ms in vain for ${what}`);
  // oxlint-disable-next-line typescript/no-base-to-string -- whatever was thrown
  const reason = failure instanceof Error ? failure.message : String(failure);
  return new Error(`Waited ${timeout} ms in vain for ${what}: ${reason}`, { cause: failure });
}

/**
 * The resources that keep this process alive: `Timeout`, `TCPSocketWrap`, `TCPServerWrap`, … sorted, one entry per
 * resource.
 */
export function activeHandles(): string[] {
  // Standard streams depend on how the process was started.
  const own = new Set(['TTYWrap', 'PipeWrap', 'FSReqCallback', 'FSReqPromise', 'FSEvent']);
  return process
    .getActiveResourcesInfo()
    .filter((name) => !own.has(name))
    .sort();
}

/** The handles that are open now and were not at `before`: `[]` when nothing leaked. */
export function newHandles(before: readonly string[]): string[] {
  const old = [...before];
  return activeHandles().filter((name) => {
    const index = old.indexOf(name);
    if (index >= 0) old.splice(index, 1);
    return index < 0;
  });
}

export interface RejectionCollector {
  /** The reasons, in order. Node reports a rejection one turn of the event loop after it was left alone. */
  readonly list: unknown[];
  stop(): void;
}

/**
 * Collects unhandled promise rejections from now on, instead of the earlier listeners; `stop()` restores those. For
 * programs and children: under Jest it collects nothing, as Jest itself fails the test that leaves one.
 */
export function collectUnhandledRejections(): RejectionCollector {
  const event = 'unhandledRejection';
  const before = process.listeners(event);
  const list: unknown[] = [];
  const collect = (reason: unknown): void => {
    list.push(reason);
  };
  process.removeAllListeners(event);
  process.on(event, collect);
  return {
    list,
    stop: () => {
      process.off(event, collect);
      for (const listener of before) process.on(event, listener);
    },
  };
}
