import { HOUR } from '../../range.ts';

/**
 * So long before a stretch a check reads a table as a whole, for what the stretch's rows follow from: nearly every message
 * is received, every block followed and every trace over within minutes. What is older is looked up one by one, which
 * for many takes longer.
 */
export const NEAR = HOUR;

/** Stretches so near each other are checked in one go: what a check reads before and behind each would overlap. */
export const JOINED = 2 * NEAR;
