import { type DynamicModule, Inject, Injectable, Module } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { systemClock } from '../clock.js';
import { SchedulerLockConfigError } from '../errors.js';
import type { Insight } from '../insight/insight.js';
import { SchedulerLockInsight } from '../nest/scheduler-lock-insight.js';
import { Board } from './board.js';
import { BOARD, controllerOf } from './controller.js';
import { optionProblems } from './option-checks.js';
import type { SchedulerLockBoardOptions } from './options.js';
import { type BoardSource, insightsOf } from './source.js';

const MODULE = 'SchedulerLockBoardModule';

/** The store of the application, as the board reads it. */
@Injectable()
class ApplicationSource implements BoardSource {
  readonly clock = systemClock;
  traceUrl: string | undefined;

  constructor(@Inject(ModuleRef) private readonly modules: ModuleRef) {}

  label = (): string => this.#reader.label;

  insight = insightsOf((zone): Promise<Insight> => this.#reader.openIn(zone));

  get #reader(): SchedulerLockInsight {
    return this.modules.get(SchedulerLockInsight, { strict: false });
  }
}

/**
 * A page of all jobs of the fleet: which need attention, why, who ran what. Import it beside `SchedulerLockModule`:
 *
 * ```ts
 * SchedulerLockBoardModule.forRoot({ path: 'admin/jobs', guards: [AdminGuard] })
 * ```
 *
 * It is a controller like any other, on Express and on Fastify: guards, a global prefix and throttling apply to it. Interceptors do not
 * change what it sends.
 */
@Module({})
export class SchedulerLockBoardModule {
  /**
   * @param options see {@link SchedulerLockBoardOptions}
   * @throws SchedulerLockConfigError at once for options that cannot work; when the application starts, if it has no SchedulerLockModule
   */
  static forRoot(options: SchedulerLockBoardOptions): DynamicModule {
    const problems = optionProblems(options).map((problem) => `${MODULE}.forRoot(): ${problem}`);
    if (problems.length > 0) throw new SchedulerLockConfigError(problems);
    return {
      module: SchedulerLockBoardModule,
      imports: options.imports ?? [],
      controllers: [controllerOf(options)],
      providers: [
        ApplicationSource,
        {
          provide: BOARD,
          inject: [ApplicationSource, ModuleRef],
          useFactory: (source: ApplicationSource, modules: ModuleRef) => {
            checkParts(modules);
            source.traceUrl = options.traceUrl;
            return new Board(source);
          },
        },
      ],
    };
  }
}

function checkParts(modules: ModuleRef): void {
  try {
    modules.get(SchedulerLockInsight, { strict: false });
  } catch (cause) {
    const problem =
      `${MODULE}: this application has no SchedulerLockModule, so there is nothing to show. Add ` +
      `SchedulerLockModule.forRoot({ connection: 'redis://…' }) to the imports of the root module, beside ${MODULE}.`;
    throw new SchedulerLockConfigError([problem], { cause });
  }
}
