import type { ControlSwitches, Target } from '../../insight/control/types.js';
import { type Result, told } from '../../insight/control/told.js';
import { displayName } from '../../base/lock-name.js';
import type { Request } from './arguments.js';
import type { Act, Switch } from './switch-arguments.js';
import { printable } from './table.js';

/** What a switch needs. */
export interface Hand {
  readonly control: ControlSwitches;
  readonly actor: string;
  /** Shows a time. */
  readonly shown: (time: number) => string;
  readonly say: (line: string) => void;
}

/** The result of a switch: for programs, for people, and whether it was done. */
export interface Done {
  readonly document: unknown;
  readonly line: string;
  readonly code: 0 | 1 | 2;
}

type Do = (act: Act, hand: Hand) => Promise<Result>;

const SWITCHES: Readonly<Record<Switch, Do>> = {
  pause: (act, hand) =>
    hand.control.pause({
      ...targetOf(act),
      ...byOf(act, hand),
      reason: act.reason ?? '',
      ...(act.for !== undefined && { for: act.for }),
      ...(act.wait !== undefined && { wait: act.wait }),
      onWaiting: (holder) =>
        hand.say(printable(`It is paused. Waiting behind ${displayName(holder ?? 'whoever has it')} …`)),
    }),
  resume: (act, hand) => hand.control.resume({ ...targetOf(act), ...byOf(act, hand) }),
  break: (act, hand) => {
    const by = { ...byOf(act, hand), reason: act.reason ?? '' };
    return hand.control.break({ lock: act.name ?? '', fencingToken: act.fencing, ...by });
  },
  run: (act, hand) => {
    const { name = '', args, key, throughPause, wait } = act;
    return hand.control.runNow({
      job: name,
      args,
      throughPause,
      ...byOf(act, hand),
      ...(key !== undefined && { key }),
      ...(wait !== undefined && { wait }),
    });
  },
  redeliver: (act, hand) => {
    const { name: lock = '', id } = act;
    return hand.control.redeliver({ lock, ...byOf(act, hand), ...(id !== undefined && { id }) });
  },
};

/** Carries out a switch. Rejects as the store does. */
export async function done(command: Switch, { act }: Request, hand: Hand): Promise<Done> {
  const document = await SWITCHES[command](act as Act, hand);
  const { sentence, hint, code } = told(document, hand.shown);
  return { document, line: hint === undefined ? sentence : `${sentence} ${hint}`, code };
}

const targetOf = ({ name = '', lock }: Act): Target => (lock === undefined ? { job: name } : { lock });

const byOf = ({ reason, as }: Act, { actor }: Hand): { actor: string; reason?: string } => ({
  actor: as ?? actor,
  ...(reason !== undefined && { reason }),
});
