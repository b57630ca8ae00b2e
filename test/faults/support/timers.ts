import { createHook, executionAsyncId, executionAsyncResource } from 'node:async_hooks';

export interface TimerWatch {
  /** Where each timer was set that has neither fired nor been cancelled. */
  pending(): string[];
  stop(): void;
}

/**
 * Watches the timers that the library and its client set from now on, those included that do not keep a process
 * alive, which Node counts nowhere. Not those of a timer that was set before: it is of an earlier file of this worker.
 */
export function watchTimers(): TimerWatch {
  const timers = new Map<number, string>();
  const ours = new Set<number>();
  const isForeign = (): boolean =>
    executionAsyncResource().constructor.name === 'Timeout' && !ours.has(executionAsyncId());
  const hook = createHook({
    init(id, type) {
      if (type !== 'Timeout' || id === executionAsyncId() || isForeign()) return;
      ours.add(id);
      const frames = new Error('timer').stack?.split('\n') ?? [];
      const inside = frames.filter((frame) => /\/lib\/[^:]*\.ts|\/node_modules\/ioredis\//.test(frame));
      if (inside.length > 0) timers.set(id, inside.join('\n'));
    },
    destroy(id) {
      timers.delete(id);
    },
  });
  hook.enable();
  return { pending: () => [...timers.values()], stop: () => void hook.disable() };
}
