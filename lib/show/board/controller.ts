import {
  Body,
  Controller,
  Get,
  Inject,
  Param,
  Post,
  Req,
  Res,
  type Type,
  UseGuards,
  VERSION_NEUTRAL,
} from '@nestjs/common';
import type { Answer } from './answer.js';
import { answerOf } from './route.js';
import type { Board } from './board.js';
import type { SchedulerLockBoardOptions } from './options.js';

/** Injection token of a board, in the board's own module. */
export const BOARD = Symbol('board of SchedulerLockBoardModule');

/** The parts of a request that Express and Fastify have in common, and that the board uses. */
interface PlatformRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

/** The parts of a response that the board uses, of Express or of Fastify. */
interface PlatformResponse {
  status(code: number): this;
  header(name: string, value: string | readonly string[]): this;
  getHeader(name: string): unknown;
  removeHeader(name: string): unknown;
  send(body: string | Buffer): unknown;
}

/** The routes that only read. The guards of the board are those of the class, so they protect all routes. */
class Reading {
  constructor(@Inject(BOARD) protected readonly host: { readonly board: Board }) {}

  /** Which of them there are, and what they answer, stands in `route.ts`. */
  @Get(['', 'api/v1/:what', 'api/v1/:what/:name', 'api/v1/:what/:name/:part'])
  async read(
    @Param() params: Readonly<Record<string, string>>,
    @Req() request: PlatformRequest,
    @Res() response: PlatformResponse,
  ): Promise<void> {
    const names = [params['what'], params['name'], params['part']].filter((name) => name !== undefined);
    send(response, await answerOf(this.host.board, names, queryOf(request), request.headers));
  }
}

/** The controller of one board. Its routes are version-neutral: the application's default version must not move the page. */
export function controllerOf({ path, guards, control }: SchedulerLockBoardOptions): Type<unknown> {
  @Controller({ path, version: VERSION_NEUTRAL })
  @UseGuards(...guards)
  class SchedulerLockBoardController extends Reading {}
  if (control === undefined) return SchedulerLockBoardController;
  const { guards: controlGuards, actor: actorOf } = control;

  @Controller({ path, version: VERSION_NEUTRAL })
  @UseGuards(...guards)
  class SchedulerLockBoardSwitchesController extends Reading {
    /** Without a name in the path, the name is in the body. */
    @Post(['api/v1/:of/:action', 'api/v1/:of/:name/:action'])
    @UseGuards(...controlGuards)
    async act(
      @Param() params: { readonly of: string; readonly name?: string; readonly action: string },
      @Body() body: unknown,
      @Req() request: PlatformRequest,
      @Res() response: PlatformResponse,
    ): Promise<void> {
      const actor = (): string | Promise<string> => actorOf(request as never);
      send(response, await this.host.board.act({ ...params, body, headers: request.headers, actor }));
    }
  }
  return SchedulerLockBoardSwitchesController;
}

const queryOf = ({ url }: PlatformRequest): string => url.split('?').slice(1).join('?');

function send(response: PlatformResponse, { status, headers, body }: Answer): void {
  response.status(status);
  // The application may vary its answers, too.
  const vary = [response.getHeader('vary'), headers['vary']].filter(Boolean).join(', ');
  for (const [name, value] of Object.entries({ ...headers, ...(vary !== '' && { vary }) }))
    if (name !== 'set-cookie') response.header(name, value);
  addCookie(response, headers['set-cookie']);
  response.send(body);
}

/** Guards may set cookies, too. Fastify adds a header of this name to those before it, Express replaces them. */
function addCookie(response: PlatformResponse, cookie: string | undefined): void {
  if (cookie === undefined) return;
  const before = [response.getHeader('set-cookie') ?? []].flat() as string[];
  response.removeHeader('set-cookie');
  response.header('set-cookie', [...before, cookie]);
}
