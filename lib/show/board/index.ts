export { SchedulerLockBoardModule } from './board.module.js';
export type { BoardGuards, SchedulerLockBoardControl, SchedulerLockBoardOptions } from './options.js';
