/**
 * What the page answers, on any server: Nest on Express or Fastify, or a plain one.
 */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Bytes: compressed. */
  readonly body: string | Buffer;
}

/** 1. The page loads nothing from elsewhere. 2. Only its own script runs. 3. No other page shows the page in a frame. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

const ALWAYS = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
};

export const html = (body: string, status = 200): Answer => ({
  status,
  headers: { ...ALWAYS, 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' },
  body,
});

export const json = (document: unknown, status = 200): Answer => jsonText(JSON.stringify(document), status);

export const jsonText = (body: string, status = 200): Answer => ({
  status,
  headers: { ...ALWAYS, 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' },
  body,
});

/** A file with its version in its address. */
export const asset = (type: string, body: string): Answer => ({
  status: 200,
  headers: {
    ...ALWAYS,
    'content-type': `${type}; charset=utf-8`,
    'cache-control': 'private, max-age=31536000, immutable',
  },
  body,
});
