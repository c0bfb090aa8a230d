import { bigint, integer, jsonb, primaryKey, text, unique } from 'drizzle-orm/pg-core';
import { int8range, moment, describe, etl } from '../describe.ts';

export const quarantine = etl.table(
  'quarantine',
  {
    id: bigint({ mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    dataset: text().notNull(),
    scope: text().notNull().default(''),
    record_id: text().notNull(),
    utime: moment().notNull(),
    span: int8range().notNull(),
    path: text().notNull(),
    reason: text().notNull(),
    raw: text().notNull(),
    request: text().notNull(),
    attempts: integer().notNull().default(1),
    first_at: moment().notNull().defaultNow(),
    last_at: moment().notNull().defaultNow(),
  },
  // Records without an identity may be sent as the same text in several places.
  (t) => [unique('quarantine_record').on(t.dataset, t.scope, t.record_id, t.span)],
);

describe(quarantine, {
  comment: 'Records of the API that did not fit their schema: stored whole here, and missing from the data.',
  columns: {
    id: 'Number of the quarantined record, for the commands that show or retry it.',
    dataset: 'Name of the dataset that the record belongs to: its file in jobs/ without the ending.',
    scope: 'Pool or account that the record was asked for; empty if the dataset is read whole.',
    record_id: "The record's own identity (hash or key), or a digest if it has none or a long one.",
    utime: 'Block time of the record, or, if that cannot be read, of its neighbor in the page.',
    span: 'Half-open range of unix seconds in which the record may lie: its own second. If its time cannot be read, they are the seconds from the record before it in the page to the one after it. None of them is complete.',
    path: 'Dotted path of the member that does not fit, its first 300 characters; empty if the record as a whole does not.',
    reason: 'Why the member does not fit, in the words of the check.',
    raw: 'The record as JSON text, exactly as received except for characters that Postgres cannot store.',
    request: 'Path and query of the request that returned the record, without any key.',
    attempts: 'How often the record was received and did not fit.',
    first_at: 'When the record was first put into quarantine, on the clock of the database.',
    last_at: 'When the record was last received unfit, on the clock of the database.',
  },
});

export const schemaDrift = etl.table(
  'schema_drift',
  {
    dataset: text().notNull(),
    path: text().notNull(),
    type: text().notNull(),
    example: jsonb(),
    times: bigint({ mode: 'number' }).notNull().default(1),
    first_at: moment().notNull().defaultNow(),
    last_at: moment().notNull().defaultNow(),
  },
  (t) => [primaryKey({ columns: [t.dataset, t.path, t.type] })],
);

describe(schemaDrift, {
  comment: 'Members of the API that no column takes: the API grew; their values are kept in the rows’ extra.',
  columns: {
    dataset: 'Name of the dataset whose records carry the new member: its file in jobs/ without the ending.',
    path: 'Dotted path of the new member within its record, its first 300 characters; positions in arrays are written as *. Of a page with more than 100 new members, … stands for the others.',
    type: 'JSON type of the value: string, number, boolean, object, array or null; others if the path is ….',
    example:
      'One value that was seen, or, if it is long, the beginning of its JSON text; null if the value itself was null.',
    times: 'How many records carried the member with this type.',
    first_at: 'When the member was first seen, on the clock of the database.',
    last_at: 'When the member was last seen, on the clock of the database.',
  },
});
