/*
 * Loaded before anything else (`node --import`): from here on all code in this process, `cron` included, reads a
 * wall clock that is off by CHAOS_CLOCK_OFFSET ms. The monotonic clock stays true, as it does on a machine whose
 * time is set wrongly.
 */
const offset = Number(process.env['CHAOS_CLOCK_OFFSET'] ?? 0);
const TrueDate = Date;
const now = (): number => TrueDate.now() + offset;

globalThis.Date = new Proxy(TrueDate, {
  construct: (target, args: unknown[], newTarget) =>
    Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget) as object,
  apply: () => new TrueDate(now()).toString(),
  get: (target, key, receiver) => (key === 'now' ? now : (Reflect.get(target, key, receiver) as unknown)),
});

export {};
