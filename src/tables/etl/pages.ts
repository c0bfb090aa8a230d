import { index } from 'drizzle-orm/pg-core';
import { etlTable, identity, int8range, integer, jsonb, scope, pass, stamp, text } from '../describe.ts';

export const pages = etlTable('pages', {
  comment:
    'One row for each page that was committed, range that was imported, or record that left the quarantine: the request, the response, and the worker that wrote it.',
  columns: {
    id: identity('Number of the page, growing in the order in which pages began to be committed.'),
    dataset: text(
      'Name of the dataset whose job asked for the page: its file in jobs/ without the ending.',
    ).notNull(),
    scope: scope('Pool or account that the page was asked for; empty if the dataset is read whole.'),
    pass: pass('Which reading the page belongs to: 0 the first, 1 the second one of rows that mature.'),
    span: int8range(
      'Half-open range of unix seconds in which the rows of the page lie, as far as it was asked for.',
    ).notNull(),
    completed: int8range(
      'Half-open range of unix seconds that the page completed; null if it completed none yet.',
    ),
    request: text(
      'Path and query of the request, without the host and without any key; or `import` and the lake, if rows came from one; or `quarantine`.',
    ).notNull(),
    rows: integer('Records in the response, quarantined ones included.').notNull(),
    bytes: integer('Bytes of the response body as it came over the wire, mostly compressed.').notNull(),
    ms: integer('Milliseconds from sending the request to the end of its body.').notNull(),
    worker: text('Worker that asked for the page and wrote it: host, process and a random part.').notNull(),
    api_version: text('Header X-API-Version of the response (1.2.x or 1.3.x); null if the server sent none.'),
    committed_at: stamp('Start of the transaction that wrote the page, on the clock of the database.'),
  },
  indexes: (t) => [
    index('pages_span_index').using('gist', t.span),
    index('pages_dataset_committed_index').on(t.dataset, t.committed_at),
  ],
});

export const failures = etlTable('failures', {
  comment: 'The last error of each dataset; it stays after the dataset has recovered, with its time.',
  columns: {
    dataset: text('Name of the dataset that failed: its file in jobs/ without the ending.').notNull(),
    scope: scope('Pool, or walk of a collection, for which the dataset failed; empty if it is read whole.'),
    code: text(
      'Kind of the error, for programs: api_unavailable, bad_response, request_refused, …',
    ).notNull(),
    message: text('What happened, to which request, in one sentence.').notNull(),
    hint: text('What to do next; null if nothing but waiting helps.'),
    times: integer('How often this dataset has failed since the database was made.').notNull().default(1),
    at: stamp('When it failed last, on the clock of the database.'),
  },
  key: ['dataset', 'scope'],
});

export const settings = etlTable('settings', {
  comment: 'Facts about this database that every process must agree on: the network, the watermark.',
  columns: {
    name: text('Name of the fact: network, watermark, lookout (the daemon that reads it), …').primaryKey(),
    value: jsonb('The fact itself, an object whose members depend on its name.').notNull(),
    updated_at: stamp('When the fact was last written, on the clock of the database.'),
  },
});

export const partitions = etlTable('partitions', {
  comment:
    'The partitions of every stream table, as they were made; their tables lie in schema etl_partitions.',
  columns: {
    parent: text('Stream table in schema ton that the partition belongs to.').notNull(),
    span: int8range(
      'Half-open range of unix seconds of block time whose rows the partition takes.',
    ).notNull(),
    name: text('Name of the partition in schema etl_partitions.').notNull(),
    made_at: stamp('When the partition was attached, on the clock of the database.'),
  },
  key: ['parent', 'span'],
});
