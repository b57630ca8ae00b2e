import type { Clock, Timer } from '../base/clock.js';
import { logWarning } from './log/log.js';
import { isTool } from './options/application.js';
import type { BoundJob } from './bound-job.js';
import { names } from './start-line.js';

/** How long after the start `main.ts` may still call `enableShutdownHooks()`, ms. */
const HOOKS_LIMIT = 1_000;
const UTC = /^(Etc\/)?(UTC|UCT|GMT|Zulu|Universal)$/;

/**
 * Warns of what the process of an application leaves out, and what nobody would notice before a deploy goes wrong. A test is no
 * application.
 *
 * @param jobs those that there are at the start
 * @returns what waits for `main.ts`: to be cancelled when the application closes
 */
export function tellOfUnkeptRules(jobs: readonly BoundJob[], clock: Clock): Timer | undefined {
  if (jobs.length === 0 || isTool(process.argv[1])) return undefined;
  const zone = withoutZone(jobs, new Intl.DateTimeFormat().resolvedOptions().timeZone);
  if (zone !== undefined) logWarning(() => zone);
  return clock.setTimer(() => {
    if (process.listenerCount('SIGTERM') === 0) logWarning(() => NO_HOOKS);
  }, HOOKS_LIMIT);
}

const NO_HOOKS =
  'Shutdown hooks are off: nothing listens to SIGTERM, so a deploy kills this instance in the middle of its jobs, and nobody runs them ' +
  'until their ttl is over. Call app.enableShutdownHooks() in main.ts.';

/** Cron jobs whose dates depend on the zone of the process. */
function withoutZone(jobs: readonly BoundJob[], zone: string): string | undefined {
  const zoneless = new Set(jobs.filter(({ schedule }) => schedule?.isZoneless).map(({ job }) => job));
  if (zoneless.size === 0 || UTC.test(zone)) return undefined;
  const [run, each] = zoneless.size === 1 ? ['runs', 'it'] : ['run', 'each'];
  return (
    `The time zone of this process, ${zone}, decides when ${names([...zoneless])} ${run}. On an instance with another one they run at other ` +
    `times, too. Give ${each} a timeZone, such as { timeZone: '${zone}' }.`
  );
}
