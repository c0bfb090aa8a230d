import { date, primaryKey, text } from 'drizzle-orm/pg-core';
import { moment } from '../columns.ts';
import { describe } from '../describe.ts';
import { etl } from '../schemas.ts';

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
  key: ['relation', 'day'],
  conflict: { kind: 'keep' },
  partitioned: false,
  columns: {
    relation: 'View of schema ton whose rows of the day are kept.',
    day: 'The day that is kept, UTC.',
    definition:
      'Digest of the view as it was when the day was closed: if the digest changes, the day is summed up again.',
    begun_at: 'When the day began to be summed up, on the clock of the database.',
    closed_at: 'When its sums were kept, on the clock of the database; null while they are made.',
  },
});
