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
import { jobIn } from './route.js';
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

  @Get()
  async page(@Req() request: PlatformRequest, @Res() response: PlatformResponse): Promise<void> {
    const answer = await this.host.board.page(queryOf(request), request.headers);
    send(response, answer);
  }

  @Get('api/v1/verdict')
  async verdict(@Res() response: PlatformResponse): Promise<void> {
    send(response, await this.host.board.api.verdict());
  }

  @Get('api/v1/jobs')
  async jobs(@Res() response: PlatformResponse): Promise<void> {
    send(response, await this.host.board.api.jobs());
  }

  @Get('api/v1/jobs/:job')
  async job(@Param('job') job: string, @Res() response: PlatformResponse): Promise<void> {
    send(response, await this.host.board.api.job(job));
  }

  @Get('api/v1/jobs/:job/runs')
  async runs(
    @Param('job') job: string,
    @Req() request: PlatformRequest,
    @Res() response: PlatformResponse,
  ): Promise<void> {
    send(response, await this.host.board.api.runs(job, queryOf(request)));
  }

  @Get('api/v1/jobs/:job/why')
  async why(
    @Param('job') job: string,
    @Req() request: PlatformRequest,
    @Res() response: PlatformResponse,
  ): Promise<void> {
    send(response, await this.host.board.api.why(job, queryOf(request)));
  }

  /** A job, its runs and its `why`, with the name in the query: routers take no long names in a path, as Fastify's of more than 100 characters. */
  @Get('api/v1/job')
  async jobOf(@Req() request: PlatformRequest, @Res() response: PlatformResponse): Promise<void> {
    send(response, await this.host.board.api.job(jobIn(queryOf(request))));
  }

  @Get('api/v1/runs')
  async runsOf(@Req() request: PlatformRequest, @Res() response: PlatformResponse): Promise<void> {
    const query = queryOf(request);
    send(response, await this.host.board.api.runs(jobIn(query), query));
  }

  @Get('api/v1/why')
  async whyOf(@Req() request: PlatformRequest, @Res() response: PlatformResponse): Promise<void> {
    const query = queryOf(request);
    send(response, await this.host.board.api.why(jobIn(query), query));
  }

  @Get('api/v1/instances')
  async instances(@Res() response: PlatformResponse): Promise<void> {
    send(response, await this.host.board.api.instances());
  }

  @Get('api/v1/locks')
  async locks(@Res() response: PlatformResponse): Promise<void> {
    send(response, await this.host.board.api.locks());
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
