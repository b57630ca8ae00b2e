import { sharedSymbol } from '../shared.js';

/** Injection token of the checked module options. */
export const MODULE_SETTINGS = sharedSymbol('module settings');

/** Injection token of the store, made by the module or given to it. */
export const LOCK_STORE = sharedSymbol('store');
