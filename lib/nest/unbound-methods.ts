import { atEndOfTurn } from '../base/clock.js';
import { hearOfStarts, isBypassed, neverBound, unboundMethods } from './decorators/locked-method.js';
import { logWarning } from './log/log-phrases.js';
import { names } from './start-warnings.js';

/** Instances whose application has started in this turn. */
const started = new Set<object>();

/** Warns at the start of an application with guarded methods that does not import the module. A test that only uses a class starts none. */
hearOfStarts((instance) => {
  if (isBypassed()) return;
  if (started.size === 0) atEndOfTurn(tell);
  started.add(instance);
});

function tell(): void {
  const methods = [...new Set([...started].flatMap(unboundMethods))];
  started.clear();
  if (methods.length === 0) return;
  const are = methods.length === 1 ? 'method is' : 'methods are';
  logWarning(
    () =>
      `${methods.length} ${are} guarded by @SchedulerLock(), and none is bound: this application does not import SchedulerLockModule. ` +
      `Each call will be refused: ${names(methods)}. Import SchedulerLockModule.forRoot() in the root module.`,
  );
}

/**
 * About guarded methods that are in no provider of this application.
 *
 * @param bound how many are
 */
export function withoutProvider(bound: number): { level: 'warn' | 'log'; text: string } | undefined {
  const methods = [...new Set(neverBound())];
  if (methods.length === 0 || isBypassed()) return undefined;
  const are = methods.length === 1 ? 'method is' : 'methods are';
  if (bound > 0)
    return {
      level: 'log',
      text: `In no providers of this application, so never scheduled here: ${names(methods)}`,
    };
  return {
    level: 'warn',
    text:
      `${methods.length} ${are} guarded by @SchedulerLock(), and none is bound: ${names(methods)}. ` +
      'Their classes are in no providers or controllers of this application, so nothing schedules them.',
  };
}
