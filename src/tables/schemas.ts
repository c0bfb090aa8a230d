import { pgSchema } from 'drizzle-orm/pg-core';

/** The data: what analysts query. */
export const ton = pgSchema('ton');

/** The program's own tables: coverage, leases, refusals, quarantine, logs. */
export const etl = pgSchema('etl');
