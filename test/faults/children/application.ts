import type { INestApplicationContext, LoggerService, Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { Parent } from '../../support/child.js';
import type { OpenedStore } from './open-store.js';

const silent = (): void => undefined;
const logger: LoggerService = { log: silent, warn: silent, error: silent, debug: silent };

/** An application that writes nothing: what stands on stderr in the end is an error. */
export function createApp(module: Type): Promise<INestApplicationContext> {
  return NestFactory.createApplicationContext(module, { logger, abortOnError: false });
}

/** Closes the application and its store when the parent says so, after which the process has to end by itself. */
export function closeOnDemand(
  parent: Parent,
  app: INestApplicationContext,
  store: Pick<OpenedStore, 'close'>,
): void {
  parent.on('close', async () => {
    await app.close();
    await store.close();
    await parent.send({ type: 'closed' });
    // Not process.exit(): whatever the application has left open keeps the process from ending.
    process.removeAllListeners('disconnect');
    process.disconnect();
  });
}
