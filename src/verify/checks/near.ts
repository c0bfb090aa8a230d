import { HOUR } from '../../range.ts';

/**
 * How far before a stretch a check reads a table as a whole, to find what the stretch's rows follow from. Nearly every
 * message is received, every block followed and every trace over within minutes. Older rows are looked up one by one,
 * which takes longer if they are many.
 */
export const NEAR = HOUR;

/** Stretches this near to each other are checked together: what a check reads around each would overlap. */
export const JOINED = 2 * NEAR;
