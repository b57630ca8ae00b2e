import type { CanActivate, ModuleMetadata, Type } from '@nestjs/common';

/** Guards of routes, as `@UseGuards()` takes them. */
export type BoardGuards = readonly (Type<CanActivate> | CanActivate)[];

/** Switches of the page. */
export interface SchedulerLockBoardControl {
  /** Who may use them, besides the guards of the page. `[]` says that whoever may see the page may do so. */
  readonly guards: BoardGuards;
  /** Names the person of a request, for the history. It gets the request of the platform: give its type. */
  readonly actor: (request: never) => string | Promise<string>;
}

/** Options of `SchedulerLockBoardModule.forRoot()`. */
export interface SchedulerLockBoardOptions {
  /** Where the page is, such as `admin/jobs`. A global prefix comes before it. */
  readonly path: string;
  /** Who may see the page, and its JSON: it shows names, schedules, and what jobs throw. `[]` says that a global guard protects it. */
  readonly guards: BoardGuards;
  /** Modules with the providers that these guards inject. */
  readonly imports?: ModuleMetadata['imports'];
  /**
   * Who may pause, resume, break, run and redeliver.
   *
   * @default nobody: the page only reads
   */
  readonly control?: SchedulerLockBoardControl | undefined;
  /**
   * Where traces are, with `{traceId}`, such as `https://tempo.example/trace/{traceId}`.
   *
   * @default no links
   */
  readonly traceUrl?: string | undefined;
}
