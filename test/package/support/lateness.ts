/** Without the notices of `cron` about a machine that was too busy to fire in time. */
export function withoutLateness(text: string): string {
  return text.replace(/^\[Cron\] Missed execution deadline .*\n/gm, '');
}
