import { boolean, index, jsonb, primaryKey, text } from 'drizzle-orm/pg-core';
import { int8, moment, describe, etl } from '../describe.ts';

export const cursors = etl.table(
  'cursors',
  {
    dataset: text().notNull(),
    scope: text().notNull().default(''),
    cursor: jsonb(),
    owner: text(),
    expires_at: moment(),
    updated_at: moment().notNull().defaultNow(),
  },
  (t) => [primaryKey({ columns: [t.dataset, t.scope] })],
);

describe(cursors, {
  comment:
    'The position of the reading of each dataset that is not a stream of time; committed together with the rows.',
  columns: {
    dataset: 'Name of the dataset that the cursor is of: its file in jobs/ without the ending.',
    scope:
      'Which of its walks: list, lookup, per_block, …; for walks over single accounts, with the account after a colon.',
    cursor:
      'The position, an object whose members depend on the kind of the walk; null before the first page.',
    owner: 'Worker that reads the walk now: host, process and a random part; null if none does.',
    expires_at: "When the owner's claim ends, unless a commit renews it; null if there is none.",
    updated_at: 'When the cursor last moved, on the clock of the database.',
  },
});

export const lookups = etl.table(
  'lookups',
  {
    dataset: text().notNull(),
    walk: text().notNull(),
    subject: text().notNull(),
    fields: jsonb(),
    seen_lt: int8(),
    known_lt: int8(),
    found: boolean(),
    asked_at: moment(),
    again_at: moment(),
  },
  (t) => [
    primaryKey({ columns: [t.dataset, t.walk, t.subject] }),
    index('lookups_due_index').on(t.dataset, t.walk, t.again_at),
  ],
);

describe(lookups, {
  comment:
    'What is looked up by name, and what is known about it: only what is new, has changed or was unknown a while ago is looked up again.',
  columns: {
    dataset: 'Name of the dataset that asks: its file in jobs/ without the ending.',
    walk: 'Which of the walks of the dataset looks it up.',
    subject: 'What is looked up: a raw address, or the key of a block or message.',
    fields: 'What a request needs besides the subject, an object; null for addresses.',
    seen_lt:
      'Highest logical time at which indexed rows, or a check of the watch list, show the subject; null if they show none.',
    known_lt: 'Logical time that the stored response reaches; null before the first response.',
    found: 'False: the source did not know the subject; null before it was asked.',
    asked_at: 'When the subject was last looked up, on the clock of the database; null before that.',
    again_at:
      'When it is looked up again even if nothing shows that it changed: at once if it is new; null if only a move counts.',
  },
});
