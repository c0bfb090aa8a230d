import { bigint, integer, primaryKey, smallint, text, index, doublePrecision } from 'drizzle-orm/pg-core';
import { count8, int8multirange, int8range, moment, describe, etl } from '../describe.ts';

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
  made_at: moment().notNull().defaultNow(),
  rows_real: doublePrecision(),
  requests_real: doublePrecision(),
  settled_at: moment(),
});

describe(estimates, {
  comment: 'What the command plan estimated for a range, and what a backfill of it then stored and cost.',
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
    made_at: 'When the estimate was made, on the clock of the database.',
    rows_real: 'Records that then came; null until a backfill has covered the range.',
    requests_real:
      'Requests that it then took, of pages that were committed; null until a backfill has covered the range.',
    settled_at: 'When a backfill had covered the range; null until then.',
  },
});

const EMPTY = '{}';

export const coverage = etl.table(
  'coverage',
  {
    dataset: text().notNull(),
    scope: text().notNull().default(''),
    pass: smallint().notNull().default(0),
    covered: int8multirange().notNull().default(EMPTY),
    verified: int8multirange().notNull().default(EMPTY),
    updated_at: moment().notNull().defaultNow(),
  },
  (t) => [primaryKey({ columns: [t.dataset, t.scope, t.pass] })],
);

describe(coverage, {
  comment:
    'Which seconds of chain time the database holds, for each dataset: the one resumable cursor of every crawl.',
  columns: {
    dataset: 'Name of the covered dataset: its file in jobs/ without the ending.',
    scope: 'Pool or account that the dataset is read for; empty for datasets that are read whole.',
    pass: '0 is the first reading of a second; 1 is the second reading of rows that mature.',
    covered: 'Half-open ranges of unix seconds whose rows were committed together with this value.',
    verified: 'Half-open ranges of unix seconds whose rows were checked afterwards; a part of covered.',
    updated_at: 'When covered or verified last changed, on the clock of the database.',
  },
});

export const wanted = etl.table('wanted', {
  dataset: text().primaryKey(),
  since: count8().notNull(),
  chosen: text().notNull(),
  updated_at: moment().notNull().defaultNow(),
});

describe(wanted, {
  comment: 'The start of what the daemon keeps complete for a dataset; the upper end is the watermark.',
  columns: {
    dataset: 'Name of the wanted dataset: its file in jobs/ without the ending.',
    since: 'First unix second that the daemon keeps complete for this dataset.',
    chosen:
      'The value of ETL_SINCE that since was computed from, so that a change of the setting is noticed.',
    updated_at: 'When the wanted range was last set, on the clock of the database.',
  },
});

export const leases = etl.table(
  'leases',
  {
    id: bigint({ mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    dataset: text().notNull(),
    scope: text().notNull().default(''),
    pass: smallint().notNull().default(0),
    span: int8range().notNull(),
    owner: text().notNull(),
    priority: text().notNull(),
    taken_at: moment().notNull().defaultNow(),
    expires_at: moment().notNull(),
  },
  (t) => [index('leases_dataset_scope_pass_index').on(t.dataset, t.scope, t.pass)],
);

describe(leases, {
  comment:
    'Ranges that a worker is reading now, each by one worker; no other worker reads them until they expire.',
  columns: {
    id: 'Number of the lease; every commit of a page checks it, and fails if it is gone.',
    dataset: 'Name of the leased dataset: its file in jobs/ without the ending.',
    scope: 'Pool or account that the leased range is read for; empty if the dataset is read whole.',
    pass: 'Which reading the lease is for: 0 the first, 1 the second one of rows that mature.',
    span: 'Half-open range of unix seconds still to be read; each commit shortens it from below.',
    owner: 'Worker that holds the lease: host, process and a random part.',
    priority: 'What the range is read for: tail, repair, backfill or refresh.',
    taken_at: 'When the worker took the lease, on the clock of the database.',
    expires_at: 'When the lease ends, unless a commit renews it; a commit after that is refused.',
  },
});

export const refused = etl.table(
  'refused',
  {
    dataset: text().notNull(),
    scope: text().notNull().default(''),
    pass: smallint().notNull().default(0),
    span: int8range().notNull(),
    reason: text().notNull(),
    detail: text().notNull().default(''),
    attempts: integer().notNull().default(1),
    first_at: moment().notNull().defaultNow(),
    retry_at: moment(),
  },
  (t) => [primaryKey({ columns: [t.dataset, t.scope, t.pass, t.span] })],
);

describe(refused, {
  comment:
    'Ranges that could not be read, or that a second reading did not repair: not read again before retry_at, never verified.',
  columns: {
    dataset: 'Name of the dataset that lacks the range: its file in jobs/ without the ending.',
    scope: 'Pool or account that the range was refused for; empty if the dataset is read whole.',
    pass: 'Which reading could not be read: 0 the first, 1 the second one of rows that mature.',
    span: 'Half-open range of unix seconds that could not be read.',
    reason:
      'Why: saturated, failing, changed (a second reading returned something else), or source_gap (the source does not return rows that must exist). Or disputed: covered, but the source repeats values that do not agree.',
    detail: 'What the source or the check said, in one sentence for the operator.',
    attempts: 'How often the range was tried; the pause before the next try doubles each time.',
    first_at: 'When the range was refused for the first time, on the clock of the database.',
    retry_at:
      'When the range is read again, on the clock of the database; null for a gap that was read again since and is not verified yet.',
  },
});
