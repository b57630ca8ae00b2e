/** Drivers turn booleans into numbers or texts, and numbers into booleans. */
export const isTrue = (value: unknown): boolean => ['true', 't', '1'].includes(String(value));
