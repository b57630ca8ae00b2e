import { holderText } from './holder-text.js';

// A pause is a lease held by a person: only its holder text, which says who, why and until when, distinguishes it from other leases.

/** Who has paused a lock, why, and until when. */
export interface PausedBy {
  readonly actor: string;
  readonly reason?: string;
  /** Epoch milliseconds, whole seconds. */
  readonly until: number;
}

/** How long a holder text may become, characters, as the narrowest column keeps it: with a token and more behind it in 255. */
const ROOM = 180;
/** How many characters of it the actor may take. */
const ACTOR_ROOM = 90;

const PAUSE = /^paused until (\d{4,}-\d\d-\d\dT\d\d:\d\d:\d\dZ) by (.*?)(?:: (.*))?$/s;

/** The holder text of a pause. A long reason is shortened. */
export function pauseHolder({ actor, reason, until }: PausedBy): string {
  const at = new Date(until).toISOString().replace(/\.\d+Z$/, 'Z');
  const head = `paused until ${at} by ${shortened(actor.replaceAll(/:\s+/g, ':'), ACTOR_ROOM)}`;
  if (reason === undefined) return head;
  const why = shortened(reason, ROOM - holderText(head, Infinity).length - 2);
  return why === '' ? head : `${head}: ${why}`;
}

/** Who has paused a lock, by the text of its holder; `undefined` if that is no pause. */
export function readPause(holder: string | undefined): PausedBy | undefined {
  if (holder?.startsWith('paused until ') !== true) return undefined;
  const [, at = '', actor, reason] = PAUSE.exec(holder) ?? [];
  const until = Date.parse(at);
  if (actor === undefined || !Number.isFinite(until)) return undefined;
  return reason === undefined ? { actor, until } : { actor, reason, until };
}

/** As much of a text as fits in when it is encoded. */
function shortened(text: string, room: number): string {
  const clean = text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\p{Surrogate}]+/gu, ' ').trim();
  if (holderText(clean, Infinity).length <= room) return clean;
  let kept = '';
  // The ellipsis takes nine characters when it is encoded.
  for (const char of clean) {
    if (holderText(kept + char, Infinity).length > room - 9) break;
    kept += char;
  }
  return kept === '' ? '' : `${kept.trimEnd()}…`;
}
