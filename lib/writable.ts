/** An object under construction, whose type is read-only for everybody else. */
export type Writable<T> = { -readonly [K in keyof T]: T[K] };
