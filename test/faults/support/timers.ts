import { createHook, executionAsyncId } from 'node:async_hooks';
import { inModuleContext } from '../../../lib/base/clock.js';

export interface TimerWatch {
  /** Where each timer was set that has neither fired nor been cancelled. */
  pending(): string[];
  stop(): void;
}

/**
 * Watches the timers that the library and its client set from now on, those included that do not keep a process
 * alive, which Node counts nowhere. Not those of the library as an earlier file of this worker has loaded it, which may go on there.
 */
export function watchTimers(): TimerWatch {
  const timers = new Map<number, string>();
  const ownContext = inModuleContext(executionAsyncId);
  const hook = createHook({
    init(id, type) {
      if (type !== 'Timeout' || id === executionAsyncId()) return;
      const frames = new Error('timer').stack?.split('\n') ?? [];
      const inside = frames.filter((frame) => /\/lib\/[^:]*\.ts|\/node_modules\/ioredis\//.test(frame));
      const isForeign =
        executionAsyncId() !== ownContext && inside.some((frame) => frame.includes('inModuleContext'));
      if (inside.length > 0 && !isForeign) timers.set(id, inside.join('\n'));
    },
    destroy(id) {
      timers.delete(id);
    },
  });
  hook.enable();
  return { pending: () => [...timers.values()], stop: () => void hook.disable() };
}
