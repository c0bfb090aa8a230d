import { index } from 'drizzle-orm/pg-core';
import {
  count8,
  doublePrecision,
  etlTable,
  identity,
  int8multirange,
  int8range,
  integer,
  moment,
  scope,
  pass,
  stamp,
  text,
} from '../describe.ts';

export const estimates = etlTable('estimates', {
  comment: 'What the command plan estimated for a range, and what a backfill of it then stored and cost.',
  columns: {
    id: identity('Number of the estimate, in the order in which they were made.'),
    dataset: text('Name of the dataset that was sampled: its file in jobs/ without the ending.').notNull(),
    span: int8range('Half-open range of unix seconds that was planned.').notNull(),
    missing: count8('Seconds of the range that were not covered when the estimate was made.').notNull(),
    rows_low: doublePrecision('Records that the missing seconds hold at least, as expected.').notNull(),
    rows_likely: doublePrecision('Records that the missing seconds most likely hold.').notNull(),
    rows_high: doublePrecision('Records that the missing seconds hold at most, as expected.').notNull(),
    requests_low: doublePrecision('Requests that reading them takes at least, as expected.').notNull(),
    requests_likely: doublePrecision('Requests that reading them most likely takes.').notNull(),
    requests_high: doublePrecision('Requests that reading them takes at most, as expected.').notNull(),
    disk_likely: doublePrecision('Bytes that they most likely take in Postgres, indexes included.').notNull(),
    made_at: stamp('When the estimate was made, on the clock of the database.'),
    rows_real: doublePrecision('Records that then came; null until a backfill has covered the range.'),
    requests_real: doublePrecision(
      'Requests that it then took, of pages that were committed; null until a backfill has covered the range.',
    ),
    settled_at: moment('When a backfill had covered the range; null until then.'),
  },
});

export const coverage = etlTable('coverage', {
  comment:
    'Which seconds of chain time the database holds, for each dataset: the one resumable cursor of every crawl.',
  columns: {
    dataset: text('Name of the covered dataset: its file in jobs/ without the ending.').notNull(),
    scope: scope('Pool or account that the dataset is read for; empty for datasets that are read whole.'),
    pass: pass('0 is the first reading of a second; 1 is the second reading of rows that mature.'),
    covered: int8multirange(
      'Half-open ranges of unix seconds whose rows were committed together with this value.',
    )
      .notNull()
      .default('{}'),
    verified: int8multirange(
      'Half-open ranges of unix seconds whose rows were checked afterwards; a part of covered.',
    )
      .notNull()
      .default('{}'),
    updated_at: stamp('When covered or verified last changed, on the clock of the database.'),
  },
  key: ['dataset', 'scope', 'pass'],
});

export const wanted = etlTable('wanted', {
  comment: 'The start of what the daemon keeps complete for a dataset; the upper end is the watermark.',
  columns: {
    dataset: text('Name of the wanted dataset: its file in jobs/ without the ending.').primaryKey(),
    since: count8('First unix second that the daemon keeps complete for this dataset.').notNull(),
    chosen: text(
      'The value of ETL_SINCE that since was computed from, so that a change of the setting is noticed.',
    ).notNull(),
    updated_at: stamp('When the wanted range was last set, on the clock of the database.'),
  },
});

export const leases = etlTable('leases', {
  comment:
    'Ranges that a worker is reading now, each by one worker; no other worker reads them until they expire.',
  columns: {
    id: identity('Number of the lease; every commit of a page checks it, and fails if it is gone.'),
    dataset: text('Name of the leased dataset: its file in jobs/ without the ending.').notNull(),
    scope: scope('Pool or account that the leased range is read for; empty if the dataset is read whole.'),
    pass: pass('Which reading the lease is for: 0 the first, 1 the second one of rows that mature.'),
    span: int8range(
      'Half-open range of unix seconds still to be read; each commit shortens it from below.',
    ).notNull(),
    owner: text('Worker that holds the lease: host, process and a random part.').notNull(),
    priority: text('What the range is read for: tail, repair, backfill or refresh.').notNull(),
    taken_at: stamp('When the worker took the lease, on the clock of the database.'),
    expires_at: moment(
      'When the lease ends, unless a commit renews it; a commit after that is refused.',
    ).notNull(),
  },
  indexes: (t) => [index('leases_dataset_scope_pass_index').on(t.dataset, t.scope, t.pass)],
});

export const refused = etlTable('refused', {
  comment:
    'Ranges that could not be read, or that a second reading did not repair: not read again before retry_at, never verified.',
  columns: {
    dataset: text(
      'Name of the dataset that lacks the range: its file in jobs/ without the ending.',
    ).notNull(),
    scope: scope('Pool or account that the range was refused for; empty if the dataset is read whole.'),
    pass: pass('Which reading could not be read: 0 the first, 1 the second one of rows that mature.'),
    span: int8range('Half-open range of unix seconds that could not be read.').notNull(),
    reason: text(
      'Why: saturated, failing, changed (a second reading returned something else), or source_gap (the source does not return rows that must exist). Or disputed: covered, but the source repeats values that do not agree.',
    ).notNull(),
    detail: text('What the source or the check said, in one sentence for the operator.')
      .notNull()
      .default(''),
    attempts: integer('How often the range was tried; the pause before the next try doubles each time.')
      .notNull()
      .default(1),
    first_at: stamp('When the range was refused for the first time, on the clock of the database.'),
    retry_at: moment(
      'When the range is read again, on the clock of the database; null for a gap that was read again since and is not verified yet.',
    ),
  },
  key: ['dataset', 'scope', 'pass', 'span'],
});
