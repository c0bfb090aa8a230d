import { bigint, doublePrecision, jsonb, text } from 'drizzle-orm/pg-core';
import { int8range, moment } from '../columns.ts';
import { describe } from '../describe.ts';
import { etl } from '../schemas.ts';

export const estimates = etl.table('estimates', {
  id: bigint({ mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
  dataset: text().notNull(),
  span: int8range().notNull(),
  missing: bigint({ mode: 'number' }).notNull(),
  rows_low: doublePrecision().notNull(),
  rows_likely: doublePrecision().notNull(),
  rows_high: doublePrecision().notNull(),
  requests_low: doublePrecision().notNull(),
  requests_likely: doublePrecision().notNull(),
  requests_high: doublePrecision().notNull(),
  disk_likely: doublePrecision().notNull(),
  profile: jsonb().notNull(),
  made_at: moment().notNull().defaultNow(),
  rows_real: doublePrecision(),
  requests_real: doublePrecision(),
  settled_at: moment(),
});

describe(estimates, {
  comment: 'What the command plan estimated for a range, and what a backfill of it then stored and cost.',
  key: ['id'],
  conflict: { kind: 'keep' },
  partitioned: false,
  columns: {
    id: 'Number of the estimate, in the order in which they were made.',
    dataset: 'Name of the dataset that was sampled: its file in jobs/ without the ending.',
    span: 'Half-open range of unix seconds that was planned.',
    missing: 'Seconds of the range that were not covered when the estimate was made.',
    rows_low: 'Records that the missing seconds hold at least, as expected.',
    rows_likely: 'Records that the missing seconds most likely hold.',
    rows_high: 'Records that the missing seconds hold at most, as expected.',
    requests_low: 'Requests that reading them takes at least, as expected.',
    requests_likely: 'Requests that reading them most likely takes.',
    requests_high: 'Requests that reading them takes at most, as expected.',
    disk_likely: 'Bytes that they most likely take in Postgres, indexes included.',
    profile:
      'Rows a second in each part of the range, an array of span and perSecond: the progress display uses it for the remaining time.',
    made_at: 'When the estimate was made, on the clock of the database.',
    rows_real: 'Records that then came; null until a backfill has covered the range.',
    requests_real:
      'Requests that it then took, of pages that were committed; null until a backfill has covered the range.',
    settled_at: 'When a backfill had covered the range; null until then.',
  },
});
