import { index } from 'drizzle-orm/pg-core';
import { boolean, etlTable, int8, jsonb, moment, scope, stamp, text } from '../describe.ts';

export const cursors = etlTable('cursors', {
  comment:
    'The position of the reading of each dataset that is not a stream of time; committed together with the rows.',
  columns: {
    dataset: text(
      'Name of the dataset that the cursor is of: its file in jobs/ without the ending.',
    ).notNull(),
    scope: scope(
      'Which of its walks: list, lookup, per_block, …; for walks over single accounts, with the account after a colon.',
    ),
    cursor: jsonb(
      'The position, an object whose members depend on the kind of the walk; null before the first page.',
    ),
    owner: text('Worker that reads the walk now: host, process and a random part; null if none does.'),
    expires_at: moment("When the owner's claim ends, unless a commit renews it; null if there is none."),
    updated_at: stamp('When the cursor last moved, on the clock of the database.'),
  },
  key: ['dataset', 'scope'],
});

export const lookups = etlTable('lookups', {
  comment:
    'What is looked up by name, and what is known about it: only what is new, has changed or was unknown a while ago is looked up again.',
  columns: {
    dataset: text('Name of the dataset that asks: its file in jobs/ without the ending.').notNull(),
    walk: text('Which of the walks of the dataset looks it up.').notNull(),
    subject: text('What is looked up: a raw address, or the key of a block or message.').notNull(),
    fields: jsonb('What a request needs besides the subject, an object; null for addresses.'),
    seen_lt: int8(
      'Highest logical time at which indexed rows, or a check of the watch list, show the subject; null if they show none.',
    ),
    known_lt: int8('Logical time that the stored response reaches; null before the first response.'),
    found: boolean('False: the source did not know the subject; null before it was asked.'),
    asked_at: moment('When the subject was last looked up, on the clock of the database; null before that.'),
    again_at: moment(
      'When it is looked up again even if nothing shows that it changed: at once if it is new; null if only a move counts.',
    ),
  },
  key: ['dataset', 'walk', 'subject'],
  indexes: (t) => [index('lookups_due_index').on(t.dataset, t.walk, t.again_at)],
});
