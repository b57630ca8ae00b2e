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
