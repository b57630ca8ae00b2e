/** A row as a driver answers it. Drivers represent numbers, times and JSON by different types. */
export type Row = Readonly<Record<string, unknown>>;
