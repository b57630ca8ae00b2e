import { type DynamicModule, Module, type OnModuleInit } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { SchedulerLockConfigError } from '../../base/errors.js';
import { partOf } from '../../nest/beside.js';
import { SchedulerLockControl } from '../../nest/scheduler-lock-control.js';
import { SchedulerLockInsight } from '../../nest/scheduler-lock-insight.js';
import { Board } from './board.js';
import { BOARD, controllerOf } from './controller.js';
import { optionProblems } from './option-checks.js';
import type { SchedulerLockBoardOptions } from './options.js';

const MODULE = 'SchedulerLockBoardModule';

/** The board of one `forRoot()`, over the store of the application. */
class ApplicationBoard implements OnModuleInit {
  #board: Board | undefined;

  constructor(
    private readonly options: SchedulerLockBoardOptions,
    private readonly modules: ModuleRef,
  ) {}

  /** Not earlier: Nest makes the parts of an application in any order. */
  onModuleInit(): void {
    const insight = partOf(this.modules, SchedulerLockInsight, MODULE, 'show');
    this.#board = new Board({
      insight: () => insight.opened(),
      clock: insight.clock,
      label: () => insight.label,
      traceUrl: this.options.traceUrl,
      control: this.options.control && this.modules.get(SchedulerLockControl, { strict: false }),
    });
  }

  get board(): Board {
    if (this.#board === undefined) throw new Error(`${MODULE}: the application has not started yet.`);
    return this.#board;
  }
}

/**
 * A page of all jobs of the fleet: which jobs need attention, why, and which instance ran what. Import this module beside
 * `SchedulerLockModule`:
 *
 * ```ts
 * SchedulerLockBoardModule.forRoot({ path: 'admin/jobs', guards: [AdminGuard] })
 * ```
 *
 * The page is a controller like any other, on Express and on Fastify: guards, a global prefix and throttling apply. Interceptors do not
 * change the answers.
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
    const useFactory = (modules: ModuleRef): ApplicationBoard => new ApplicationBoard(options, modules);
    return {
      module: SchedulerLockBoardModule,
      imports: options.imports ?? [],
      controllers: [controllerOf(options)],
      providers: [{ provide: BOARD, inject: [ModuleRef], useFactory }],
    };
  }
}
