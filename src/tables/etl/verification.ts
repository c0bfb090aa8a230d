import { index } from 'drizzle-orm/pg-core';
import {
  count8,
  date,
  etlTable,
  identity,
  int8multirange,
  int8range,
  integer,
  moment,
  scope,
  stamp,
  text,
  wide,
} from '../describe.ts';

export const findings = etlTable('findings', {
  comment:
    'Rows that a check has found to be wrong, missing or surplus. A row stays here until the same check has checked it again and finds it right. No second with a finding is ever verified, and etl.assert_complete refuses it at every grade.',
  columns: {
    dataset: text(
      'Name of a dataset that holds the row and loses its certificate for these seconds: a transaction is in transactions and in traces.',
    ).notNull(),
    scope: scope('Pool or account whose row the finding is about; empty if the dataset is read whole.'),
    span: int8range(
      'Half-open range of unix seconds in which this dataset holds the row: one second, or more if many rows are missing.',
    ).notNull(),
    table_name: text('Table of schema ton that holds the row, or that should hold it.').notNull(),
    row_key: text(
      'What names the row: its key without utime, or the thing that lacks it; empty if too many rows are missing to name each.',
    ).notNull(),
    row_span: int8range(
      'Half-open range of unix seconds in which the row itself lies, whatever dataset holds it. Two rows with one key in different seconds are two findings.',
    ).notNull(),
    differs: text(
      'What is wrong with the row: the kind of finding, and the columns that differ, if values do.',
    ).notNull(),
    check_name: text('Check that found the row, as in etl.verifications.').notNull(),
    found_in: text(
      'Dataset that the check was made for; another run of the same check there settles the finding.',
    ).notNull(),
    found_at: stamp('When the finding was made, on the clock of the database.'),
  },
  key: ['dataset', 'scope', 'check_name', 'found_in', 'table_name', 'row_key', 'row_span', 'differs', 'span'],
});

export const closedDays = etlTable('closed_days', {
  comment:
    'Days whose rows of a report are kept, because every dataset that feeds it is verified on the whole day. A day is removed as soon as its coverage changes.',
  columns: {
    relation: text('View of schema ton whose rows of the day are kept.').notNull(),
    day: date('The day that is kept, UTC.').notNull(),
    definition: text(
      'Digest of the view as it was when the day was closed: if the digest changes, the day is summed up again.',
    ).notNull(),
    begun_at: stamp('When the day began to be summed up, on the clock of the database.'),
    closed_at: moment('When its sums were kept, on the clock of the database; null while they are made.'),
  },
  key: ['relation', 'day'],
});

export const writes = etlTable('writes', {
  comment:
    'The seconds into which each commit of the last day wrote: a verification that began earlier does not certify them.',
  columns: {
    id: identity('Number of the write, growing in the order in which commits began to write to the table.'),
    table_name: text(
      'Stream table of schema ton into which the rows went, or from which they were removed.',
    ).notNull(),
    seconds: int8multirange(
      'Half-open ranges of unix seconds in which the rows lie, or more than these.',
    ).notNull(),
    written_at: stamp('Start of the transaction that wrote, on the clock of the database.'),
  },
  indexes: (t) => [index('writes_written_at_index').on(t.written_at)],
});

export const seals = etlTable('seals', {
  comment:
    'How many rows, with which keys, a verification has counted in each second: if sealed contains the second, they must be there.',
  columns: {
    table_name: text('Stream table of schema ton whose rows were counted.').notNull(),
    second: count8('Unix second in which the rows lie; one without rows is left out.').notNull(),
    rows: integer('Rows of the table in this second when it was verified.').notNull(),
    keys: wide('Sum of the 60-bit hashes of the keys of these rows, in any order.').notNull(),
  },
  key: ['table_name', 'second'],
});

export const sealed = etlTable('sealed', {
  comment:
    'Which seconds of a table are sealed: a verification has proved their rows, and the program has not changed them since.',
  columns: {
    table_name: text('Stream table of schema ton whose rows were proved.').primaryKey(),
    seconds: int8multirange('Half-open ranges of unix seconds whose rows must be those that seals has.')
      .notNull()
      .default('{}'),
    counted: int8multirange(
      'Half-open ranges of unix seconds whose rows a verification has counted, sealed or not.',
    )
      .notNull()
      .default('{}'),
  },
});

export const verifications = etlTable('verifications', {
  comment: 'One row for each check that was run: what was checked, when, what it found and how long it took.',
  columns: {
    id: identity('Number of the check that was run, growing in the order in which checks ended.'),
    dataset: text('Name of the checked dataset: its file in jobs/ without the ending.').notNull(),
    scope: scope('Pool or account whose rows were checked; empty if the dataset is read whole.'),
    span: int8range('Half-open range of unix seconds that was to be checked.').notNull(),
    check_name: text(
      'Which check: blocks, block-seconds, transactions, state-chain, books, messages, traces, seal, deep, …',
    ).notNull(),
    rows: count8('How many rows (or links between rows) were compared.').notNull(),
    findings: integer('How many of them disagreed.').notNull(),
    holes: int8multirange(
      'Half-open ranges of unix seconds that the disagreement makes doubtful; empty if there was none.',
    )
      .notNull()
      .default('{}'),
    detail: text('The findings by kind, with one example each; empty if there was none.')
      .notNull()
      .default(''),
    requests: integer('Requests to the API that the check needed.').notNull().default(0),
    ms: integer('Milliseconds that the check took.').notNull(),
    verified_at: stamp('When the check ended, on the clock of the database.'),
  },
  indexes: (t) => [index('verifications_dataset_id_index').on(t.dataset, t.id)],
});

export const grades = etlTable('grades', {
  comment:
    'What verified means for each dataset: proved against a checksum of the chain, or cross-checked because the source has none.',
  columns: {
    dataset: text(
      'Name of the dataset that the grade is for: its file in jobs/ without the ending.',
    ).primaryKey(),
    grade: text(
      'Highest grade that the dataset can have: proved or cross-checked. What is covered, but not verified, has grade covered.',
    ).notNull(),
    proves: text('What a verified range of this dataset is known to hold.').notNull(),
    blind_to: text(
      'What verification cannot see in this dataset without reading it again (verify --deep).',
    ).notNull(),
    updated_at: stamp('When this grade was last written by the program, on the clock of the database.'),
  },
});
