import {
  type DynamicModule,
  Inject,
  Injectable,
  Module,
  type OnModuleDestroy,
  type OnModuleInit,
} from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { register, type Registry } from 'prom-client';
import { SchedulerLockConfigError } from '../errors.js';
import { SchedulerLockEvents } from '../events/scheduler-lock.events.js';
import { Measurements } from '../metrics/measurements.js';
import { SchedulerLockHealth } from '../nest/scheduler-lock-health.js';
import { unknownNames } from '../wording.js';
import { Metrics } from './metrics.js';

/** Options of `SchedulerLockPrometheusModule.forRoot()`. */
export interface SchedulerLockPrometheusOptions {
  /**
   * Where the metrics are registered. Two applications in one process need one each.
   *
   * @default the global one of `prom-client`
   */
  readonly registry?: Registry | undefined;
}

const NAMES = ['registry'];
const OPTIONS = Symbol('options of SchedulerLockPrometheusModule.forRoot()');

@Injectable()
class PrometheusBridge implements OnModuleInit, OnModuleDestroy {
  #stop: (() => void) | undefined;

  constructor(
    @Inject(OPTIONS) private readonly options: SchedulerLockPrometheusOptions,
    private readonly modules: ModuleRef,
  ) {}

  onModuleInit(): void {
    const events = this.modules.get(SchedulerLockEvents, { strict: false });
    const measurements = new Measurements(this.modules.get(SchedulerLockHealth, { strict: false }));
    const metrics = new Metrics(this.options.registry ?? register, () => measurements.now());
    const stopListening = measurements.listen(events, (measurement) => metrics.record(measurement));
    this.#stop = () => {
      stopListening();
      metrics.remove();
    };
  }

  onModuleDestroy(): void {
    this.#stop?.();
  }
}

/** Metrics of locks and jobs for `prom-client`: import it beside `SchedulerLockModule`. Needs the package `prom-client`. */
@Module({})
export class SchedulerLockPrometheusModule {
  /**
   * @param options see {@link SchedulerLockPrometheusOptions}
   * @throws SchedulerLockConfigError at once for unknown options; when the application starts, if the registry has such metrics already
   */
  static forRoot(options: SchedulerLockPrometheusOptions = {}): DynamicModule {
    const problems = unknownNames(options, NAMES).map(
      (problem) => `SchedulerLockPrometheusModule: ${problem}`,
    );
    if (problems.length > 0) throw new SchedulerLockConfigError(problems);
    return {
      module: SchedulerLockPrometheusModule,
      providers: [{ provide: OPTIONS, useValue: options }, PrometheusBridge],
    };
  }
}
