import { primaryKey, text } from 'drizzle-orm/pg-core';
import { int8range, moment, describe, etl } from '../describe.ts';

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
