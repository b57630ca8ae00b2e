import { randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Answer, json } from '../board/answer.js';
import { Board } from '../board/board.js';
import { type BoardSource, failureText } from '../board/shared.js';
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

/** @throws UsageError if the port cannot be used */
export async function servePage(source: BoardSource, port: number): Promise<Served> {
  const board = new Board(source);
  const secret = randomBytes(16).toString('base64url');
  const server = createServer((request, response) => {
    answerTo(request, board, secret)
      .catch((error: unknown) => json({ error: failureText(error) }, 500))
      // Node.js leaves the body of an answer to HEAD out.
      .then(({ status, headers, body }) => response.writeHead(status, headers).end(body))
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
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, LOOPBACK, resolve);
    });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new UsageError(`--port: ${port} cannot be used (${code}). Give another one, or none.`);
  }
  return (server.address() as AddressInfo).port;
}

async function answerTo(request: IncomingMessage, board: Board, secret: string): Promise<Answer> {
  const { method, url = '/', headers, socket } = request;
  if (![LOOPBACK, 'localhost'].some((name) => headers.host === `${name}:${socket.localPort}`))
    return json({ error: `This page is at ${LOOPBACK} only.` }, 421);
  const [path = '', ...query] = url.split('?');
  const [, given = '', ...below] = path.split('/');
  if (!isSame(given, secret)) return json({ error: WRONG }, 403);
  if (method !== 'GET' && method !== 'HEAD') return json({ error: 'This page only reads.' }, 405);
  const what = below.join('/').replace(/^api\/v1\//, '');
  return board.answer(what === '' ? undefined : what, query.join('?'), headers);
}

const WRONG = 'Open the address that the shell has printed: it has a secret.';

/** Compares bytes: `timingSafeEqual` throws for texts of other lengths, and a text has more bytes than characters. */
function isSame(given: string, secret: string): boolean {
  const [own, other] = [Buffer.from(given), Buffer.from(secret)];
  return own.length === other.length && timingSafeEqual(own, other);
}
