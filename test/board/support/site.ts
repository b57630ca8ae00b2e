import type { Server } from 'node:http';
import {
  type CanActivate,
  type ExecutionContext,
  type INestApplication,
  type Type,
  Injectable,
  Module,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { ScheduleModule } from '@nestjs/schedule';
import fastifyHelmet from '@fastify/helmet';
import helmet from 'helmet';
import { SchedulerLockBoardModule, type SchedulerLockBoardOptions } from '../../../lib/show/board/index.js';
import { type Clock, type LockStore, SchedulerLockModule } from '../../../lib/index.js';
import { HousekeepingModule } from './housekeeping.js';

export const PLATFORMS = ['express', 'fastify'] as const;
export type Platform = (typeof PLATFORMS)[number];

/** Who says so in a header is an administrator: enough for a test. */
@Injectable()
export class HeaderGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { headers } = context.switchToHttp().getRequest<{ headers: Record<string, unknown> }>();
    return headers['x-user'] !== undefined && headers['x-user'] !== 'nobody';
  }
}

export const USER = { 'x-user': 'ada@example.com' };

export interface Site {
  readonly app: INestApplication;
  /** Of the page. */
  readonly url: string;
  close(): Promise<void>;
}

export interface SiteOptions {
  readonly platform?: Platform;
  readonly store: LockStore;
  readonly clock?: Clock;
  readonly board?: Partial<SchedulerLockBoardOptions>;
  /** @default 'api' */
  readonly prefix?: string;
  readonly prepare?: (app: INestApplication) => void;
  readonly imports?: readonly Type<unknown>[];
}

/** An application with a page, helmet's defaults, a global prefix, on a free port. */
export async function site(options: SiteOptions): Promise<Site> {
  const { platform = 'express', store, clock, board, prefix = 'api', prepare, imports = [] } = options;
  @Module({
    imports: [
      ScheduleModule.forRoot(),
      SchedulerLockModule.forRoot({
        store,
        ...(clock && { clock }),
        instanceId: 'api-7f9c-q1zz',
        insight: { version: '1.5.0' },
      }),
      SchedulerLockBoardModule.forRoot({ path: 'admin/jobs', guards: [HeaderGuard], ...board }),
      HousekeepingModule,
      ...imports,
    ],
  })
  class SiteModule {}
  const logger = ['error' as const, 'fatal' as const];
  const app =
    platform === 'express'
      ? await NestFactory.create(SiteModule, { logger })
      : await NestFactory.create<NestFastifyApplication>(SiteModule, new FastifyAdapter(), { logger });
  if (platform === 'express') app.use(helmet());
  else await (app as NestFastifyApplication).register(fastifyHelmet as never);
  if (prefix !== '') app.setGlobalPrefix(prefix);
  prepare?.(app);
  // No connection outlives its answer, so that a test leaves none behind.
  (app.getHttpServer() as Server).on('request', (_request, response) => (response.shouldKeepAlive = false));
  await app.listen(0, '127.0.0.1');
  const path = [prefix, board?.path ?? 'admin/jobs'].filter(Boolean).join('/');
  return {
    app,
    url: `${(await app.getUrl()).replace('[::1]', '127.0.0.1')}/${path}`,
    close: async () => {
      (app.getHttpServer() as Server).closeAllConnections();
      await app.close();
    },
  };
}

/** The status of an answer, whose body is read: an answer that nobody reads keeps its connection. */
export async function statusOf(answer: Promise<Response>): Promise<number> {
  const found = await answer;
  await found.text();
  return found.status;
}
