/** An interval may start this part of it early: timers are late by different amounts. */
export const INTERVAL_ALLOWANCE = 0.1;

/** How far a due time, kept in whole milliseconds, can lie behind the exact one, ms. */
export const INTERVAL_ROUNDING = 1;
