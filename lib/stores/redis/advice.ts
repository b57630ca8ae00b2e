import { RIGHTS } from './acl.js';

/** The error for a user who lacks a right. A refusal within a script has a text of its own: before Redis 7, and in Redis 8 and Valkey. */
export const DENIED = /\bNOPERM\b|executing the script|ACL failure in script/;

/** What to do about a failure, by the message of Node, OpenSSL or Redis. */
const ADVICE: readonly (readonly [RegExp, string])[] = [
  [
    /READONLY/,
    'This server is a read-only replica: connect to the primary, or through Sentinel (`sentinels` and `name`), which leads to it.',
  ],
  [
    /\b(MOVED|ASK) \d+ /,
    'This server is a node of a Cluster: give a client of the Cluster (`new Cluster([…])` of ioredis, `createCluster()` of node-redis).',
  ],
  [
    /self[- ]signed certificate|unable to (verify|get)\b.*\b(certificate|issuer)/i,
    "No known authority has signed the server's certificate. Give yours: `tls: { ca }` in the options, or the file in NODE_EXTRA_CA_CERTS.",
  ],
  [
    /does not match certificate's altnames/i,
    'The certificate is for another name: connect by that name, or give `tls: { servername }` in the options.',
  ],
  [
    /alert (certificate required|bad certificate|handshake failure)|alert number (116|42|40)/i,
    'Perhaps the server asks for a certificate of the client: `tls: { cert, key }` in the options.',
  ],
  [DENIED, RIGHTS],
  [/max number of clients/, 'Raise `maxclients` of the server, or look who keeps so many connections.'],
  [
    // The message says no more: to a server, unexpected TLS is noise, and the defaults of ioredis lead to localhost.
    /no connection within|ETIMEDOUT|ECONNRESET|EPROTO|wrong version number|Protocol error|ECONNREFUSED (127\.0\.0\.1|::1):6379/,
    'Perhaps only one side uses TLS, or another server has this port: look at host, port, and redis:// or rediss://. ' +
      'Perhaps an option has a name that ioredis does not know: it passes over it, and connects to localhost.',
  ],
];

/** A message, and what to do, if that is known. */
export function withAdvice(message: string): string {
  const [, advice] = ADVICE.find(([pattern]) => pattern.test(message)) ?? [];
  return advice === undefined ? message : `${message} ${advice}`;
}
