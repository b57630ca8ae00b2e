/** An object under construction, whose type is read-only for all other code. */
export type Writable<T> = { -readonly [K in keyof T]: T[K] };
