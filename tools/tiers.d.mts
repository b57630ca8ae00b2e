type Tier = 'fast' | 'full' | 'slow';

export const TIERS: Readonly<Record<Tier, { readonly ending: string; readonly what: string }>>;
export const ROOTS: readonly string[];
export const LEFT_ALONE: string;
export function patternsOf(tier: Tier | 'any'): string[];
export function filesOf(tier: Tier): string[];
