import { unique } from 'drizzle-orm/pg-core';
import {
  count8,
  etlTable,
  identity,
  int8range,
  integer,
  jsonb,
  moment,
  scope,
  stamp,
  text,
} from '../describe.ts';

export const quarantine = etlTable('quarantine', {
  comment: 'Records of the API that did not fit their schema: stored whole here, and missing from the data.',
  columns: {
    id: identity('Number of the quarantined record, for the commands that show or retry it.'),
    dataset: text(
      'Name of the dataset that the record belongs to: its file in jobs/ without the ending.',
    ).notNull(),
    scope: scope('Pool or account that the record was asked for; empty if the dataset is read whole.'),
    record_id: text(
      "The record's own identity (hash or key), or a digest if it has none or a long one.",
    ).notNull(),
    utime: moment(
      'Block time of the record, or, if that cannot be read, of its neighbor in the page.',
    ).notNull(),
    span: int8range(
      'Half-open range of unix seconds in which the record may lie: its own second. If its time cannot be read, they are the seconds from the record before it in the page to the one after it. None of them is complete.',
    ).notNull(),
    path: text(
      'Dotted path of the member that does not fit, its first 300 characters; empty if the record as a whole does not.',
    ).notNull(),
    reason: text('Why the member does not fit, in the words of the check.').notNull(),
    raw: text(
      'The record as JSON text, exactly as received except for characters that Postgres cannot store.',
    ).notNull(),
    request: text('Path and query of the request that returned the record, without any key.').notNull(),
    attempts: integer('How often the record was received and did not fit.').notNull().default(1),
    first_at: stamp('When the record was first put into quarantine, on the clock of the database.'),
    last_at: stamp('When the record was last received unfit, on the clock of the database.'),
  },
  indexes: (t) => [unique('quarantine_record').on(t.dataset, t.scope, t.record_id, t.span)],
});

export const schemaDrift = etlTable('schema_drift', {
  comment: 'Members of the API that no column takes: the API grew; their values are kept in the rows’ extra.',
  columns: {
    dataset: text(
      'Name of the dataset whose records carry the new member: its file in jobs/ without the ending.',
    ).notNull(),
    path: text(
      'Dotted path of the new member within its record, its first 300 characters; positions in arrays are written as *. Of a page with more than 100 new members, … stands for the others.',
    ).notNull(),
    type: text(
      'JSON type of the value: string, number, boolean, object, array or null; others if the path is ….',
    ).notNull(),
    example: jsonb(
      'One value that was seen, or, if it is long, the beginning of its JSON text; null if the value itself was null.',
    ),
    times: count8('How many records carried the member with this type.').notNull().default(1),
    first_at: stamp('When the member was first seen, on the clock of the database.'),
    last_at: stamp('When the member was last seen, on the clock of the database.'),
  },
  key: ['dataset', 'path', 'type'],
});
