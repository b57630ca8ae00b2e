/** Injection token of the checked module options. */
export const MODULE_SETTINGS = Symbol('SCHEDULER_LOCK_MODULE_SETTINGS');

/** Injection token of the store that the module made or was given. */
export const LOCK_STORE = Symbol('SCHEDULER_LOCK_STORE');
