import { bigint, doublePrecision, integer, jsonb, primaryKey, text } from 'drizzle-orm/pg-core';
import { moment, describe, etl } from '../describe.ts';

/** Moments in this table are seconds as floating-point numbers: they are computed with many times a second. */
const seconds = () => doublePrecision();

export const budget = etl.table('budget', {
  host: text().primaryKey(),
  rps: doublePrecision().notNull(),
  free_at: seconds().notNull(),
  tail_free_at: seconds().notNull().default(0),
  asked_at: seconds().array().notNull().default([0, 0, 0, 0]),
  line_at: seconds().array().notNull().default([0, 0, 0, 0]),
  factor: doublePrecision().notNull().default(1),
  refused_factor: doublePrecision(),
  slack: doublePrecision().notNull(),
  generation: bigint({ mode: 'number' }).notNull().default(1),
  refusals: bigint({ mode: 'number' }).notNull().default(0),
  relapses: integer().notNull().default(0),
  refused_at: seconds().notNull().default(0),
  resumed_at: seconds().notNull().default(0),
  probe_at: seconds().notNull().default(0),
  server_started_at: seconds().notNull(),
});

describe(budget, {
  comment:
    'The budget of requests to a host, which all processes share: one row for each host, on the clock of the database.',
  columns: {
    host: 'Host (and port) that counts the requests, over all keys and processes.',
    rps: 'Requests a second that the plan allows, as set in the process that asked last.',
    free_at: 'When the next request may go out; unix seconds with a fraction.',
    tail_free_at:
      'When the tail will have used up its half of the rate: ahead of the clock while it uses more.',
    asked_at: 'When a slot was last asked for, by priority: tail, repair, backfill, refresh; unix seconds.',
    line_at:
      'When a process that joins the queue now should ask for a slot, by priority; unix seconds, in the past if there is no queue.',
    factor:
      'Share of the rate of the plan that is used: below 1 after refusals, until success raises it again.',
    refused_factor:
      'The factor at which the server refused last, near which it rises slowly; null once it was passed.',
    slack: 'Extra seconds between requests beyond what the plan requires, because some arrive late.',
    generation: 'Grows with each refusal: slots that were handed out under an earlier number are void.',
    refusals: 'How often the server has refused; simultaneous refusals count as one.',
    relapses: 'Refusals that followed soon after a pause, in a row: each doubles the next pause.',
    refused_at: 'When the server refused last, 0 for never; unix seconds.',
    resumed_at: 'When the pause after the last refusal ended or will end; unix seconds.',
    probe_at:
      'In a pause of more than a minute: when one request may be sent to probe whether it is over; unix seconds.',
    server_started_at:
      'Start time of the database server that wrote this row: after a restart no request is sent for a second.',
  },
});

export const workers = etl.table('workers', {
  worker: text().primaryKey(),
  host: text().notNull(),
  waiting: jsonb().notNull(),
  started_at: moment().notNull().defaultNow(),
  seen_at: moment().notNull().defaultNow(),
});

describe(workers, {
  comment:
    'Processes that read an API, each with its last heartbeat; a process that ended normally is not here.',
  columns: {
    worker: 'Name of the process as in leases and pages: host, process and a random part.',
    host: 'Host (and port) of the API that the process reads, as in the budget.',
    waiting: 'Requests that wait for the budget in the process, by priority, as an object of counts.',
    started_at: 'When the process first asked for a slot, on the clock of the database.',
    seen_at: 'Last heartbeat, every few seconds, on the clock of the database.',
  },
});

export const spending = etl.table(
  'spending',
  {
    host: text().notNull(),
    minute: moment().notNull(),
    worker: text().notNull(),
    priority: text().notNull(),
    requests: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.host, t.minute, t.worker, t.priority] })],
);

describe(spending, {
  comment: 'What the budget was spent on: requests a minute by process and priority, kept for a day.',
  columns: {
    host: 'Host (and port) that the requests were sent to, as in the budget.',
    minute:
      'Start of the minute in which the process reported the requests, a few seconds after it sent them.',
    worker: 'Process that sent the requests, named as in leases and pages.',
    priority: 'What the requests were for: tail, repair, backfill or refresh.',
    requests: 'How many requests were sent, including retries.',
  },
});
