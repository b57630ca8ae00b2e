import type { CanActivate, ModuleMetadata, Type } from '@nestjs/common';

/** Guards of routes, as `@UseGuards()` takes them. */
export type BoardGuards = readonly (Type<CanActivate> | CanActivate)[];

/** Switches of the page. */
export interface SchedulerLockBoardControl {
  /** Guards of the switches, besides the guards of the page. `[]`: everybody who may see the page may use the switches. */
  readonly guards: BoardGuards;
  /** Names the person of a request, for the history. The parameter is the request of Express or Fastify: declare its type. */
  readonly actor: (request: never) => string | Promise<string>;
}

/** Options of `SchedulerLockBoardModule.forRoot()`. */
export interface SchedulerLockBoardOptions {
  /** The path of the page, such as `admin/jobs`. A global prefix comes before it. */
  readonly path: string;
  /**
   * Guards of the page and its JSON, which show names, schedules, and the errors that jobs throw. `[]` says that a global guard protects
   * them.
   */
  readonly guards: BoardGuards;
  /** Modules with the providers that the guards inject. */
  readonly imports?: ModuleMetadata['imports'];
  /**
   * Who may pause, resume, break, run and redeliver.
   *
   * @default nobody: the page only reads
   */
  readonly control?: SchedulerLockBoardControl | undefined;
  /**
   * The address of a trace, with `{traceId}`, such as `https://tempo.example/trace/{traceId}`.
   *
   * @default no links
   */
  readonly traceUrl?: string | undefined;
}
