import { createHook, executionAsyncId } from 'node:async_hooks';

export interface TimerWatch {
  /** Where each timer was set that has neither fired nor been cancelled. */
  pending(): string[];
  stop(): void;
}

/**
 * Watches the timers that the library and its client set from now on, those included that do not keep a process
 * alive, which Node counts nowhere.
 */
export function watchTimers(): TimerWatch {
  const timers = new Map<number, string>();
  const hook = createHook({
    init(id, type) {
      if (type !== 'Timeout' || id === executionAsyncId()) return;
      const frames = new Error('timer').stack?.split('\n') ?? [];
      const ours = frames.filter((frame) => /\/lib\/[^:]*\.ts|\/node_modules\/ioredis\//.test(frame));
      if (ours.length > 0) timers.set(id, ours.join('\n'));
    },
    destroy(id) {
      timers.delete(id);
    },
  });
  hook.enable();
  return { pending: () => [...timers.values()], stop: () => void hook.disable() };
}
