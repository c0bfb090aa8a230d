import { pgSchema } from 'drizzle-orm/pg-core';

/** The data that analysts query. */
export const ton = pgSchema('ton');

/** The program's own tables: coverage, leases, refusals, quarantine, logs. */
export const etl = pgSchema('etl');
