import { bigint, integer, numeric, primaryKey, smallint, text, index } from 'drizzle-orm/pg-core';
import { count8, int8multirange, int8range, moment } from '../columns.ts';
import { describe } from '../describe.ts';
import { etl } from '../schemas.ts';

export const receipts = etl.table(
  'receipts',
  {
    table_name: text().notNull(),
    minute: count8().notNull(),
    id: bigint({ mode: 'number' }).notNull().generatedAlwaysAsIdentity(),
    rows: integer().notNull(),
    keys: numeric().notNull(),
  },
  (t) => [primaryKey({ columns: [t.table_name, t.minute, t.id] })],
);

describe(receipts, {
  comment:
    'What each commit left in the stream tables: summed over a minute they say how many rows, with which keys, must be there. Rows that vanish later are found by them.',
  key: ['table_name', 'minute', 'id'],
  conflict: { kind: 'keep' },
  partitioned: false,
  columns: {
    table_name: 'Stream table of schema ton into which the rows went, or from which they were removed.',
    minute:
      'Minute of chain time in which the rows lie: their utime in unix seconds divided by 60, without the rest.',
    id: 'Number of the receipt; verification puts the receipts of a minute together into one.',
    rows: 'Rows that the commit added; 0 where it only changed some, below zero where it removed some.',
    keys: 'Sum of the 64-bit hashes of the keys of these rows, in any order; taken away where rows were removed.',
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
  key: ['id'],
  conflict: { kind: 'keep' },
  partitioned: false,
  columns: {
    id: 'Number of the check that was run, growing in the order in which checks ended.',
    dataset: 'Name of the checked dataset: its file in jobs/ without the ending.',
    scope: 'Pool or account whose rows were checked; empty where the dataset is read whole.',
    span: 'Half-open range of unix seconds that was to be checked.',
    check_name:
      'Which check: blocks, block-seconds, transactions, state-chain, books, messages, traces, receipts, deep, …',
    rows: 'How many rows (or links between rows) were held against each other.',
    findings: 'How many of them disagreed.',
    holes:
      'Half-open ranges of unix seconds that the disagreement makes doubtful; empty where there was none.',
    detail: 'The findings by kind, with one example each; empty where there was none.',
    requests: 'Requests to the API that the check needed.',
    ms: 'Milliseconds that the check took.',
    verified_at: 'When the check ended, on the clock of the database.',
  },
});

export const holes = etl.table(
  'holes',
  {
    dataset: text().notNull(),
    scope: text().notNull().default(''),
    pass: smallint().notNull().default(0),
    span: int8range().notNull(),
    reason: text().notNull(),
    detail: text().notNull().default(''),
    rounds: integer().notNull().default(1),
    found_at: moment().notNull().defaultNow(),
    last_at: moment().notNull().defaultNow(),
    retry_at: moment().notNull(),
  },
  (t) => [primaryKey({ columns: [t.dataset, t.scope, t.pass, t.span] })],
);

describe(holes, {
  comment:
    'Seconds that verification found incomplete or wrong and that reading them again did not repair; forgotten as soon as they are verified.',
  key: ['dataset', 'scope', 'pass', 'span'],
  conflict: { kind: 'keep' },
  partitioned: false,
  columns: {
    dataset: 'Name of the dataset that has the hole: its file in jobs/ without the ending.',
    scope: 'Pool or account whose rows are missing or wrong; empty where the dataset is read whole.',
    pass: 'Which reading has the hole: 0 the first, 1 the second one of rows that mature.',
    span: 'Half-open range of unix seconds that stays doubtful.',
    reason:
      'source_gap: the source does not give rows that must exist; disputed: all rows are there, but the source stands by values that do not agree.',
    detail: 'What the check found, with an example.',
    rounds:
      'How often the hole was read again without success; the pause before the next time doubles each time.',
    found_at: 'When the hole was first found, on the clock of the database.',
    last_at: 'When it was last read again without success, on the clock of the database.',
    retry_at: 'From when on the hole may be read again.',
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
  key: ['dataset'],
  conflict: { kind: 'keep' },
  partitioned: false,
  columns: {
    dataset: 'Name of the dataset that the grade is for: its file in jobs/ without the ending.',
    grade:
      'Highest grade that the dataset can have: proved or cross-checked. What is covered, but not verified, has grade covered.',
    proves: 'What a verified range of this dataset is known to hold.',
    blind_to: 'What verification cannot see in this dataset without reading it again (verify --deep).',
    updated_at: 'When this grade was last written by the program, on the clock of the database.',
  },
});
