const CRLF = Buffer.from('\r\n');

/** Cuts a byte stream into units that are forwarded or dropped as a whole. */
export interface Framer {
  /** The units that `chunk` completes. */
  push(chunk: Buffer): Buffer[];
}

/** For unknown protocols: bytes that arrive together are one unit. */
export const rawFramer: Framer = { push: (chunk) => [chunk] };

/**
 * Complete RESP values (versions 2 and 3), regardless of packets: one per request, one per reply.
 * https://redis.io/docs/latest/develop/reference/protocol-spec/
 */
export class RespFramer implements Framer {
  #rest: Buffer = Buffer.alloc(0);

  push(chunk: Buffer): Buffer[] {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const frames: Buffer[] = [];
    let start = 0;
    for (;;) {
      const end = endOfValue(bytes, start);
      if (end === undefined) break;
      frames.push(bytes.subarray(start, end));
      start = end;
    }
    this.#rest = bytes.subarray(start);
    return frames;
  }
}

/** Messages out of turn (RESP3) answer no request. */
export function isPush(frame: Buffer): boolean {
  return frame[0] === 0x3e;
}

/** A request as one would type it: `set lock:a token NX PX 1000`. */
export function requestText(frame: Buffer): string {
  if (frame[0] !== 0x2a) return frame.toString('utf8').trimEnd();
  const words: string[] = [];
  let at = frame.indexOf(CRLF) + 2;
  while (at < frame.length) {
    const lineEnd = frame.indexOf(CRLF, at);
    const length = Number(frame.toString('latin1', at + 1, lineEnd));
    words.push(frame.toString('utf8', lineEnd + 2, lineEnd + 2 + length));
    at = lineEnd + 2 + length + 2;
  }
  return words.join(' ');
}

/** Where the value that starts at `start` ends; undefined while it is incomplete. */
function endOfValue(bytes: Buffer, start: number): number | undefined {
  const lineEnd = bytes.indexOf(CRLF, start);
  if (lineEnd < 0) return undefined;
  const afterLine = lineEnd + 2;
  const type = String.fromCharCode(bytes[start] ?? 0);
  const size = Number(bytes.toString('latin1', start + 1, lineEnd));
  if ('$!='.includes(type)) {
    const end = size < 0 ? afterLine : afterLine + size + 2;
    return end <= bytes.length ? end : undefined;
  }
  if ('*~>'.includes(type)) return endOfValues(bytes, afterLine, size);
  if (type === '%') return endOfValues(bytes, afterLine, 2 * size);
  // Attributes come before the value that they describe.
  if (type === '|') return endOfValues(bytes, afterLine, 2 * size + 1);
  return afterLine;
}

function endOfValues(bytes: Buffer, start: number, count: number): number | undefined {
  let end: number | undefined = start;
  for (let index = 0; index < count && end !== undefined; index++) end = endOfValue(bytes, end);
  return end;
}
