/** See exclusively.mjs, which is plain JavaScript because it is used before anything is built. */
export function exclusively<T>(folder: string, work: () => Promise<T>): Promise<T>;
