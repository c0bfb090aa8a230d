import { bigint, index, integer, jsonb, primaryKey, smallint, text } from 'drizzle-orm/pg-core';
import { int8range, moment, describe, etl } from '../describe.ts';

export const pages = etl.table(
  'pages',
  {
    id: bigint({ mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    dataset: text().notNull(),
    scope: text().notNull().default(''),
    pass: smallint().notNull().default(0),
    span: int8range().notNull(),
    completed: int8range(),
    request: text().notNull(),
    rows: integer().notNull(),
    bytes: integer().notNull(),
    ms: integer().notNull(),
    worker: text().notNull(),
    api_version: text(),
    committed_at: moment().notNull().defaultNow(),
  },
  (t) => [
    index('pages_span_index').using('gist', t.span),
    index('pages_dataset_committed_index').on(t.dataset, t.committed_at),
  ],
);

describe(pages, {
  comment:
    'One row for each page that was committed, range that was imported, or record that left the quarantine: the request, the response, and the worker that wrote it.',
  columns: {
    id: 'Number of the page, growing in the order in which pages began to be committed.',
    dataset: 'Name of the dataset whose job asked for the page: its file in jobs/ without the ending.',
    scope: 'Pool or account that the page was asked for; empty if the dataset is read whole.',
    pass: 'Which reading the page belongs to: 0 the first, 1 the second one of rows that mature.',
    span: 'Half-open range of unix seconds in which the rows of the page lie, as far as it was asked for.',
    completed: 'Half-open range of unix seconds that the page completed; null if it completed none yet.',
    request:
      'Path and query of the request, without the host and without any key; or `import` and the lake, if rows came from one; or `quarantine`.',
    rows: 'Records in the response, quarantined ones included.',
    bytes: 'Bytes of the response body as it came over the wire, mostly compressed.',
    ms: 'Milliseconds from sending the request to the end of its body.',
    worker: 'Worker that asked for the page and wrote it: host, process and a random part.',
    api_version: 'Header X-API-Version of the response (1.2.x or 1.3.x); null if the server sent none.',
    committed_at: 'Start of the transaction that wrote the page, on the clock of the database.',
  },
});

export const failures = etl.table(
  'failures',
  {
    dataset: text().notNull(),
    scope: text().notNull().default(''),
    code: text().notNull(),
    message: text().notNull(),
    hint: text(),
    times: integer().notNull().default(1),
    at: moment().notNull().defaultNow(),
  },
  (t) => [primaryKey({ columns: [t.dataset, t.scope] })],
);

describe(failures, {
  comment: 'The last error of each dataset; it stays after the dataset has recovered, with its time.',
  columns: {
    dataset: 'Name of the dataset that failed: its file in jobs/ without the ending.',
    scope: 'Pool, or walk of a collection, for which the dataset failed; empty if it is read whole.',
    code: 'Kind of the error, for programs: api_unavailable, bad_response, request_refused, …',
    message: 'What happened, to which request, in one sentence.',
    hint: 'What to do next; null if nothing but waiting helps.',
    times: 'How often this dataset has failed since the database was made.',
    at: 'When it failed last, on the clock of the database.',
  },
});

export const settings = etl.table('settings', {
  name: text().primaryKey(),
  value: jsonb().notNull(),
  updated_at: moment().notNull().defaultNow(),
});

describe(settings, {
  comment: 'Facts about this database that every process must agree on: the network, the watermark.',
  columns: {
    name: 'Name of the fact: network, watermark, lookout (the daemon that reads it), …',
    value: 'The fact itself, an object whose members depend on its name.',
    updated_at: 'When the fact was last written, on the clock of the database.',
  },
});

export const partitions = etl.table(
  'partitions',
  {
    parent: text().notNull(),
    span: int8range().notNull(),
    name: text().notNull(),
    made_at: moment().notNull().defaultNow(),
  },
  (t) => [primaryKey({ columns: [t.parent, t.span] })],
);

describe(partitions, {
  comment:
    'The partitions of every stream table, as they were made; their tables lie in schema etl_partitions.',
  columns: {
    parent: 'Stream table in schema ton that the partition belongs to.',
    span: 'Half-open range of unix seconds of block time whose rows the partition takes.',
    name: 'Name of the partition in schema etl_partitions.',
    made_at: 'When the partition was attached, on the clock of the database.',
  },
});
