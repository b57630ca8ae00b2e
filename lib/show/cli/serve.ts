import { randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Answer } from '../board/answer.js';
import { Board } from '../board/board.js';
import type { BoardSource } from '../board/shared.js';
import { withoutSql } from '../../base/wording.js';
import { UsageError } from './options.js';

/**
 * The address of a page that is served.
 *
 * The page for a person who may read the store. Other users of the machine reach its loopback, too, and so does a site in the browser, by
 * a name that resolves to it: so the page answers only to its own address, and only below the secret that the shell printed. The secret is
 * in no cookie: a browser sends those to all ports of this machine.
 */
interface Served {
  /** With its secret. */
  readonly address: string;
  close(): void;
}

const LOOPBACK = '127.0.0.1';

/** @throws UsageError if the port is taken */
export async function servePage(source: BoardSource, port: number): Promise<Served> {
  const board = new Board(source);
  const secret = randomBytes(16).toString('base64url');
  const server = createServer((request, response) => {
    answerTo(request, board, secret)
      .catch((error: unknown) =>
        plain(500, withoutSql(error instanceof Error ? error.message : String(error))),
      )
      .then((answer) => send(response, answer, request.method === 'HEAD'))
      .catch(() => response.destroy());
  });
  const actual = await listening(server, port);
  return {
    address: `http://${LOOPBACK}:${actual}/${secret}/`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function listening(server: Server, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(new UsageError(`--port: ${port} cannot be used (${error.code}). Give another one, or none.`)),
    );
    server.listen(port, LOOPBACK, resolve);
  });
  return (server.address() as AddressInfo).port;
}

async function answerTo(request: IncomingMessage, board: Board, secret: string): Promise<Answer> {
  const { method, url = '/', headers, socket } = request;
  const { localPort = 0 } = socket;
  if (![LOOPBACK, 'localhost'].some((name) => headers.host === `${name}:${localPort}`))
    return plain(421, `This page is at ${LOOPBACK} only.`);
  const [path = '', ...query] = url.split('?');
  const [, given = '', ...below] = path.split('/');
  if (!isSame(given, secret)) return plain(403, WRONG);
  if (method !== 'GET' && method !== 'HEAD') return plain(405, 'This page only reads.');
  const what = below.join('/').replace(/^api\/v1\//, '');
  return board.answer(what === '' ? undefined : what, query.join('?'), headers);
}

const WRONG = 'Open the address that the shell has printed: it has a secret.';

/** Compares bytes: `timingSafeEqual` throws for texts of other lengths, and a text has more bytes than characters. */
function isSame(given: string, secret: string): boolean {
  const [own, other] = [Buffer.from(given), Buffer.from(secret)];
  return own.length === other.length && timingSafeEqual(own, other);
}

const plain = (status: number, body: string): Answer => ({
  status,
  headers: {
    'content-type': 'text/plain; charset=utf-8',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  },
  body,
});

function send(response: ServerResponse, { status, headers, body }: Answer, isHead: boolean): void {
  response.writeHead(status, headers);
  response.end(isHead ? undefined : body);
}
