import {
  count8,
  doublePrecision,
  doublePrecisions,
  etlTable,
  integer,
  jsonb,
  moment,
  stamp,
  text,
} from '../describe.ts';

/** Moments in this table are seconds as floating-point numbers: they are computed with many times a second. */
const seconds = doublePrecision;
const secondsEach = doublePrecisions;

export const budget = etlTable('budget', {
  comment:
    'The budget of requests to a host, which all processes share: one row for each host, on the clock of the database.',
  columns: {
    host: text('Host (and port) that counts the requests, over all keys and processes.').primaryKey(),
    rps: doublePrecision(
      'Requests a second that the plan allows, as set in the process that asked last.',
    ).notNull(),
    free_at: seconds('When the next request may go out; unix seconds with a fraction.').notNull(),
    tail_free_at: seconds(
      'When the tail will have used up its half of the rate: ahead of the clock while it uses more.',
    )
      .notNull()
      .default(0),
    asked_at: secondsEach(
      'When a slot was last asked for, by priority: tail, repair, backfill, refresh; unix seconds.',
    )
      .notNull()
      .default([0, 0, 0, 0]),
    line_at: secondsEach(
      'When a process that joins the queue now should ask for a slot, by priority; unix seconds, in the past if there is no queue.',
    )
      .notNull()
      .default([0, 0, 0, 0]),
    factor: doublePrecision(
      'Share of the rate of the plan that is used: below 1 after refusals, until success raises it again.',
    )
      .notNull()
      .default(1),
    refused_factor: doublePrecision(
      'The factor at which the server refused last, near which it rises slowly; null once it was passed.',
    ),
    slack: doublePrecision(
      'Extra seconds between requests beyond what the plan requires, because some arrive late.',
    ).notNull(),
    generation: count8(
      'Grows with each refusal: slots that were handed out under an earlier number are void.',
    )
      .notNull()
      .default(1),
    refusals: count8('How often the server has refused; simultaneous refusals count as one.')
      .notNull()
      .default(0),
    relapses: integer('Refusals that followed soon after a pause, in a row: each doubles the next pause.')
      .notNull()
      .default(0),
    refused_at: seconds('When the server refused last, 0 for never; unix seconds.').notNull().default(0),
    resumed_at: seconds('When the pause after the last refusal ended or will end; unix seconds.')
      .notNull()
      .default(0),
    probe_at: seconds(
      'In a pause of more than a minute: when one request may be sent to probe whether it is over; unix seconds.',
    )
      .notNull()
      .default(0),
    server_started_at: seconds(
      'Start time of the database server that wrote this row: after a restart no request is sent for a second.',
    ).notNull(),
  },
});

export const workers = etlTable('workers', {
  comment:
    'Processes that read an API, each with its last heartbeat; a process that ended normally is not here.',
  columns: {
    worker: text('Name of the process as in leases and pages: host, process and a random part.').primaryKey(),
    host: text('Host (and port) of the API that the process reads, as in the budget.').notNull(),
    waiting: jsonb(
      'Requests that wait for the budget in the process, by priority, as an object of counts.',
    ).notNull(),
    started_at: stamp('When the process first asked for a slot, on the clock of the database.'),
    seen_at: stamp('Last heartbeat, every few seconds, on the clock of the database.'),
  },
});

export const spending = etlTable('spending', {
  comment: 'What the budget was spent on: requests a minute by process and priority, kept for a day.',
  columns: {
    host: text('Host (and port) that the requests were sent to, as in the budget.').notNull(),
    minute: moment(
      'Start of the minute in which the process reported the requests, a few seconds after it sent them.',
    ).notNull(),
    worker: text('Process that sent the requests, named as in leases and pages.').notNull(),
    priority: text('What the requests were for: tail, repair, backfill or refresh.').notNull(),
    requests: integer('How many requests were sent, including retries.').notNull(),
  },
  key: ['host', 'minute', 'worker', 'priority'],
});
