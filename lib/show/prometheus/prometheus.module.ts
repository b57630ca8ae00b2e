import {
  type DynamicModule,
  Inject,
  Injectable,
  Module,
  type OnModuleDestroy,
  type OnModuleInit,
} from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import type { Registry } from 'prom-client';
import { SchedulerLockConfigError } from '../../base/errors.js';
import { SchedulerLockEvents } from '../../nest/log/scheduler-lock.events.js';
import { Measurements } from '../metrics/measurements.js';
import { packageFor, partOf } from '../../nest/beside.js';
import { SchedulerLockHealth } from '../../nest/scheduler-lock-health.js';
import { unknownNames } from '../../base/wording.js';
import { Metrics, type PromClient } from './metrics.js';

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
const MODULE = 'SchedulerLockPrometheusModule';
const OPTIONS = Symbol(`options of ${MODULE}.forRoot()`);
const CLIENT = Symbol('prom-client');

@Injectable()
class PrometheusBridge implements OnModuleInit, OnModuleDestroy {
  #stop: (() => void) | undefined;

  constructor(
    @Inject(OPTIONS) private readonly options: SchedulerLockPrometheusOptions,
    @Inject(CLIENT) private readonly client: PromClient,
    private readonly modules: ModuleRef,
  ) {}

  onModuleInit(): void {
    const events = partOf(this.modules, SchedulerLockEvents, MODULE);
    const measurements = new Measurements(partOf(this.modules, SchedulerLockHealth, MODULE));
    const metrics = new Metrics(this.client, this.options.registry, () => measurements.now());
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

/**
 * Metrics of locks and jobs for `prom-client`: import it beside `SchedulerLockModule`, as it is or by `forRoot()`. Needs the package
 * `prom-client`. The start fails with `SchedulerLockConfigError` if one of the two is missing.
 */
@Module({
  providers: [
    { provide: OPTIONS, useValue: {} },
    { provide: CLIENT, useFactory: () => packageFor(MODULE, 'prom-client', () => import('prom-client')) },
    PrometheusBridge,
  ],
})
export class SchedulerLockPrometheusModule {
  /**
   * @param options see {@link SchedulerLockPrometheusOptions}
   * @throws SchedulerLockConfigError at once for unknown options; when the application starts, if the registry has such metrics already
   */
  static forRoot(options: SchedulerLockPrometheusOptions = {}): DynamicModule {
    const problems = unknownNames(options, NAMES).map((problem) => `${MODULE}: ${problem}`);
    if (problems.length > 0) throw new SchedulerLockConfigError(problems);
    return {
      module: SchedulerLockPrometheusModule,
      // Instead of the providers of the class, which serve without forRoot().
      providers: [{ provide: OPTIONS, useValue: options }],
    };
  }
}
