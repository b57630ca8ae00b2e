/** What this library asks of the store when it fires a tick again. */
export type Ask =
  /** Begin the tick. */
  | 'begin'
  /** Begin it, if its job ran before: the tick may be older than the job's first deployment, or the store may have lost its data. */
  | 'known'
  /** Begin it once, if its job ran before: the instance that runs the tick may give it back before the job begins. */
  | 'given-back'
  /** Run it if the instance that runs it is interrupted, or gives it back. */
  | 'watch'
  /** Run it if its run was interrupted. */
  | 'interrupted';

/** Why a tick was refused that may run later. */
export type Obstacle =
  /** Another instance runs it. */
  | 'running'
  /** Its lock is taken for something else; nobody has started it. */
  | 'locked'
  /** This very process has its lock, so the store was not asked. */
  | 'own-lock'
  /** The store did not answer. */
  | 'outage';

/**
 * What to ask for next. After an outage a tick is begun only if its job is known: rather skip a tick than run it twice because
 * the store has lost its data.
 */
const NEXT: Record<Ask, Record<Exclude<Obstacle, 'running'>, Ask | undefined>> = {
  begin: { locked: 'begin', 'own-lock': 'begin', outage: 'known' },
  known: { locked: 'known', 'own-lock': 'known', outage: 'known' },
  'given-back': { locked: 'known', 'own-lock': 'given-back', outage: 'given-back' },
  watch: { locked: 'known', 'own-lock': 'interrupted', outage: 'interrupted' },
  // Nobody has started it: there is nothing to repeat.
  interrupted: { locked: undefined, 'own-lock': 'interrupted', outage: 'interrupted' },
};

/** @param rerun whether an interrupted run of the tick may be repeated */
export function nextAsk(ask: Ask, obstacle: Obstacle, rerun: boolean): Ask | undefined {
  if (obstacle !== 'running') return NEXT[ask][obstacle];
  if (rerun) return 'watch';
  return ask === 'begin' || ask === 'known' ? 'given-back' : undefined;
}

/** Whether the tick must be young for this. Else it is enough that it is the newest of its job. */
export const beginsTick = (ask: Ask): boolean => ask !== 'watch' && ask !== 'interrupted';

/** What the store may start for this: see `only` of an attempt. */
export function onlyOf(ask: Ask): 'known' | 'interrupted' | undefined {
  if (ask === 'begin') return undefined;
  return ask === 'interrupted' ? 'interrupted' : 'known';
}
