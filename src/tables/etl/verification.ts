import { bigint, integer, numeric, primaryKey, text, index, date } from 'drizzle-orm/pg-core';
import { count8, int8multirange, int8range, moment, describe, etl } from '../describe.ts';

export const findings = etl.table(
  'findings',
  {
    dataset: text().notNull(),
    scope: text().notNull().default(''),
    span: int8range().notNull(),
    table_name: text().notNull(),
    row_key: text().notNull(),
    row_span: int8range().notNull(),
    differs: text().notNull(),
    check_name: text().notNull(),
    found_in: text().notNull(),
    found_at: moment().notNull().defaultNow(),
  },
  (t) => [
    primaryKey({
      name: 'findings_pkey',
      columns: [
        t.dataset,
        t.scope,
        t.check_name,
        t.found_in,
        t.table_name,
        t.row_key,
        t.row_span,
        t.differs,
        t.span,
      ],
    }),
  ],
);

describe(findings, {
  comment:
    'Rows that a check has found to be wrong, missing or surplus. A row stays here until the same check has checked it again and finds it right. No second with a finding is ever verified, and etl.assert_complete refuses it at every grade.',
  columns: {
    dataset:
      'Name of a dataset that holds the row and loses its certificate for these seconds: a transaction is in transactions and in traces.',
    scope: 'Pool or account whose row the finding is about; empty if the dataset is read whole.',
    span: 'Half-open range of unix seconds in which this dataset holds the row: one second, or more if many rows are missing.',
    table_name: 'Table of schema ton that holds the row, or that should hold it.',
    row_key:
      'What names the row: its key without utime, or the thing that lacks it; empty if too many rows are missing to name each.',
    row_span:
      'Half-open range of unix seconds in which the row itself lies, whatever dataset holds it. Two rows with one key in different seconds are two findings.',
    differs: 'What is wrong with the row: the kind of finding, and the columns that differ, if values do.',
    check_name: 'Check that found the row, as in etl.verifications.',
    found_in: 'Dataset that the check was made for; another run of the same check there settles the finding.',
    found_at: 'When the finding was made, on the clock of the database.',
  },
});

export const closedDays = etl.table(
  'closed_days',
  {
    relation: text().notNull(),
    day: date().notNull(),
    definition: text().notNull(),
    begun_at: moment().notNull().defaultNow(),
    closed_at: moment(),
  },
  (t) => [primaryKey({ columns: [t.relation, t.day] })],
);

describe(closedDays, {
  comment:
    'Days whose rows of a report are kept, because every dataset that feeds it is verified on the whole day. A day is removed as soon as its coverage changes.',
  columns: {
    relation: 'View of schema ton whose rows of the day are kept.',
    day: 'The day that is kept, UTC.',
    definition:
      'Digest of the view as it was when the day was closed: if the digest changes, the day is summed up again.',
    begun_at: 'When the day began to be summed up, on the clock of the database.',
    closed_at: 'When its sums were kept, on the clock of the database; null while they are made.',
  },
});

export const writes = etl.table(
  'writes',
  {
    id: bigint({ mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    table_name: text().notNull(),
    seconds: int8multirange().notNull(),
    written_at: moment().notNull().defaultNow(),
  },
  (t) => [index('writes_written_at_index').on(t.written_at)],
);

describe(writes, {
  comment:
    'The seconds into which each commit of the last day wrote: a verification that began earlier does not certify them.',
  columns: {
    id: 'Number of the write, growing in the order in which commits began to write to the table.',
    table_name: 'Stream table of schema ton into which the rows went, or from which they were removed.',
    seconds: 'Half-open ranges of unix seconds in which the rows lie, or more than these.',
    written_at: 'Start of the transaction that wrote, on the clock of the database.',
  },
});

export const seals = etl.table(
  'seals',
  {
    table_name: text().notNull(),
    second: count8().notNull(),
    rows: integer().notNull(),
    keys: numeric().notNull(),
  },
  (t) => [primaryKey({ columns: [t.table_name, t.second] })],
);

describe(seals, {
  comment:
    'How many rows, with which keys, a verification has counted in each second: if sealed contains the second, they must be there.',
  columns: {
    table_name: 'Stream table of schema ton whose rows were counted.',
    second: 'Unix second in which the rows lie; one without rows is left out.',
    rows: 'Rows of the table in this second when it was verified.',
    keys: 'Sum of the 60-bit hashes of the keys of these rows, in any order.',
  },
});

export const sealed = etl.table('sealed', {
  table_name: text().primaryKey(),
  seconds: int8multirange().notNull().default('{}'),
  counted: int8multirange().notNull().default('{}'),
});

describe(sealed, {
  comment:
    'Which seconds of a table are sealed: a verification has proved their rows, and the program has not changed them since.',
  columns: {
    table_name: 'Stream table of schema ton whose rows were proved.',
    seconds: 'Half-open ranges of unix seconds whose rows must be those that seals has.',
    counted: 'Half-open ranges of unix seconds whose rows a verification has counted, sealed or not.',
  },
});

export const verifications = etl.table(
  'verifications',
  {
    id: bigint({ mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    dataset: text().notNull(),
    scope: text().notNull().default(''),
    span: int8range().notNull(),
    check_name: text().notNull(),
    rows: bigint({ mode: 'number' }).notNull(),
    findings: integer().notNull(),
    holes: int8multirange().notNull().default('{}'),
    detail: text().notNull().default(''),
    requests: integer().notNull().default(0),
    ms: integer().notNull(),
    verified_at: moment().notNull().defaultNow(),
  },
  (t) => [index('verifications_dataset_id_index').on(t.dataset, t.id)],
);

describe(verifications, {
  comment: 'One row for each check that was run: what was checked, when, what it found and how long it took.',
  columns: {
    id: 'Number of the check that was run, growing in the order in which checks ended.',
    dataset: 'Name of the checked dataset: its file in jobs/ without the ending.',
    scope: 'Pool or account whose rows were checked; empty if the dataset is read whole.',
    span: 'Half-open range of unix seconds that was to be checked.',
    check_name:
      'Which check: blocks, block-seconds, transactions, state-chain, books, messages, traces, seal, deep, …',
    rows: 'How many rows (or links between rows) were compared.',
    findings: 'How many of them disagreed.',
    holes: 'Half-open ranges of unix seconds that the disagreement makes doubtful; empty if there was none.',
    detail: 'The findings by kind, with one example each; empty if there was none.',
    requests: 'Requests to the API that the check needed.',
    ms: 'Milliseconds that the check took.',
    verified_at: 'When the check ended, on the clock of the database.',
  },
});

export const grades = etl.table('grades', {
  dataset: text().primaryKey(),
  grade: text().notNull(),
  proves: text().notNull(),
  blind_to: text().notNull(),
  updated_at: moment().notNull().defaultNow(),
});

describe(grades, {
  comment:
    'What verified means for each dataset: proved against a checksum of the chain, or cross-checked because the source has none.',
  columns: {
    dataset: 'Name of the dataset that the grade is for: its file in jobs/ without the ending.',
    grade:
      'Highest grade that the dataset can have: proved or cross-checked. What is covered, but not verified, has grade covered.',
    proves: 'What a verified range of this dataset is known to hold.',
    blind_to: 'What verification cannot see in this dataset without reading it again (verify --deep).',
    updated_at: 'When this grade was last written by the program, on the clock of the database.',
  },
});
