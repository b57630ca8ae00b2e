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
  header(name: string, value: string): this;
  send(body: string | Buffer): unknown;
}

/**
 * The controller of one board. The guards of the board are those of the class, so they protect all routes. The routes are
 * version-neutral: the application's default version must not move the page.
 */
export function controllerOf({ path, guards, control }: SchedulerLockBoardOptions): Type<unknown> {
  @Controller({ path, version: VERSION_NEUTRAL })
  @UseGuards(...guards)
  class SchedulerLockBoardController {
    constructor(@Inject(BOARD) private readonly host: { readonly board: Board }) {}

    @Get(['', 'api/v1/:what'])
    async read(
      @Param('what') what: string | undefined,
      @Req() request: PlatformRequest,
      @Res() response: PlatformResponse,
    ): Promise<void> {
      const query = request.url.split('?').slice(1).join('?');
      send(response, await this.host.board.answer(what, query, request.headers));
    }

    /** Answers 404 without the option `control`. */
    @Post('api/v1/:of/:action')
    @UseGuards(...(control?.guards ?? []))
    async act(
      @Param() { of, action }: { readonly of: string; readonly action: string },
      @Body() body: unknown,
      @Req() request: PlatformRequest,
      @Res() response: PlatformResponse,
    ): Promise<void> {
      const actor = (): string | Promise<string> => control?.actor(request as never) ?? '';
      const name = `${of}/${action}`;
      send(response, await this.host.board.act({ name, body, headers: request.headers, actor }));
    }
  }
  return SchedulerLockBoardController;
}

function send(response: PlatformResponse, { status, headers, body }: Answer): void {
  response.status(status);
  for (const [name, value] of Object.entries(headers)) response.header(name, value);
  response.send(body);
}
