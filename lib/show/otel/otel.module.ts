import {
  type DynamicModule,
  Inject,
  Injectable,
  Module,
  type OnModuleDestroy,
  type OnModuleInit,
} from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import type { Meter, Tracer } from '@opentelemetry/api';
import { SchedulerLockConfigError } from '../../base/errors.js';
import { SchedulerLockEvents } from '../../nest/log/scheduler-lock.events.js';
import { Measurements } from '../metrics/measurements.js';
import { packageFor, partOf } from '../../nest/beside.js';
import { SchedulerLockHealth } from '../../nest/scheduler-lock-health.js';
import { SchedulerLockService } from '../../nest/scheduler-lock.service.js';
import { unknownNames } from '../../base/wording.js';
import { sendWithin } from '../../base/quietly.js';
import { measureWith } from './meters.js';
import { RunSpans } from './spans.js';

/** Options of `SchedulerLockOtelModule.forRoot()`. */
export interface SchedulerLockOtelOptions {
  /** @default the global one: `metrics.getMeter('nestjs-scheduler-lock')`, as it is when the application starts */
  readonly meter?: Meter | undefined;
  /** @default the global one: `trace.getTracer('nestjs-scheduler-lock')` */
  readonly tracer?: Tracer | undefined;
  /** Whether each run is a span. @default true */
  readonly spans?: boolean | undefined;
}

/** The key by which the SDK of OpenTelemetry suppresses spans. */
const SUPPRESS = Symbol.for('OpenTelemetry SDK Context Key SUPPRESS_TRACING');
const SCOPE = 'nestjs-scheduler-lock';
const NAMES = ['meter', 'tracer', 'spans'];
const MODULE = 'SchedulerLockOtelModule';
const OPTIONS = Symbol(`options of ${MODULE}.forRoot()`);
const API = Symbol('@opentelemetry/api');

type Api = typeof import('@opentelemetry/api');

@Injectable()
class OtelBridge implements OnModuleInit, OnModuleDestroy {
  #stops: (() => void)[] = [];

  constructor(
    @Inject(OPTIONS) private readonly options: SchedulerLockOtelOptions,
    @Inject(API) private readonly api: Api,
    private readonly modules: ModuleRef,
  ) {}

  onModuleInit(): void {
    const { context, metrics, trace } = this.api;
    const { meter = metrics.getMeter(SCOPE), tracer = trace.getTracer(SCOPE), spans = true } = this.options;
    const events = partOf(this.modules, SchedulerLockEvents, MODULE);
    const measurements = new Measurements(partOf(this.modules, SchedulerLockHealth, MODULE));
    this.#stops = measureWith(meter, measurements, events);
    const quiet = sendWithin((send) => context.with(context.active().setValue(SUPPRESS, true), send));
    this.#stops.push(quiet);
    if (!spans) return;
    const locks = partOf(this.modules, SchedulerLockService, MODULE);
    this.#stops.push(new RunSpans(tracer).start(locks, events));
  }

  onModuleDestroy(): void {
    for (const stop of this.#stops) stop();
  }
}

/**
 * Metrics and traces of locks and jobs for OpenTelemetry: import it beside `SchedulerLockModule`, as it is or by `forRoot()`. Needs the
 * package `@opentelemetry/api`. The start fails with `SchedulerLockConfigError` if one of the two is missing.
 */
@Module({
  providers: [
    { provide: OPTIONS, useValue: {} },
    {
      provide: API,
      useFactory: () => packageFor(MODULE, '@opentelemetry/api', () => import('@opentelemetry/api')),
    },
    OtelBridge,
  ],
})
export class SchedulerLockOtelModule {
  /**
   * @param options see {@link SchedulerLockOtelOptions}
   * @throws SchedulerLockConfigError for unknown options
   */
  static forRoot(options: SchedulerLockOtelOptions = {}): DynamicModule {
    const problems = unknownNames(options, NAMES).map((problem) => `${MODULE}: ${problem}`);
    if (problems.length > 0) throw new SchedulerLockConfigError(problems);
    return {
      module: SchedulerLockOtelModule,
      // Instead of the providers of the class, which serve without forRoot().
      providers: [{ provide: OPTIONS, useValue: options }],
    };
  }
}
