import { sql } from 'drizzle-orm';
import { z } from 'zod';
import type { Counts } from '../../budget/priority.ts';
import type { Session } from '../connection/database.ts';

/** A process that reads an API. */
export interface Worker {
  /** Its name in leases and pages. */
  readonly name: string;
  /** Host (and port) of the API. */
  readonly host: string;
}

/** Says that a process is alive, how many of its requests wait, and what it has sent since it last said so. */
export async function reportWorker(
  session: Session,
  { name, host }: Worker,
  waiting: Counts,
  spent: Counts,
): Promise<void> {
  await session.run(sql`
    with alive as (
      insert into etl.workers as w (worker, host, waiting) values (${name}, ${host}, ${JSON.stringify(waiting)}::jsonb)
      on conflict (worker) do update set waiting = excluded.waiting, seen_at = default)
    insert into etl.spending as s (host, minute, worker, priority, requests)
    select ${host}, date_trunc('minute', clock_timestamp()), ${name}, key, value::int
    from jsonb_each_text(${JSON.stringify(spent)}::jsonb)
    on conflict (host, minute, worker, priority) do update set requests = s.requests + excluded.requests`);
}

/** A process ended well. What others left who did not, and what is older than a day, goes with it. */
export async function forgetWorker(session: Session, { name }: Worker): Promise<void> {
  await session.run(sql`
    delete from etl.workers where worker = ${name} or seen_at < clock_timestamp() - interval '1 day'`);
  await session.run(sql`delete from etl.spending where minute < clock_timestamp() - interval '1 day'`);
}

const counts = z.record(z.string(), z.coerce.number());

const WorkerStatus = z.object({
  worker: z.string(),
  host: z.string(),
  /** Seconds since its last sign of life. */
  silent: z.number(),
  waiting: counts,
});

const Spent = z.object({
  host: z.string(),
  worker: z.string(),
  priority: z.string(),
  lastMinute: z.coerce.number(),
  lastHour: z.coerce.number(),
});

const BudgetStatus = z.object({
  host: z.string(),
  /** Requests a second: what the plan allows, and what is used of it now. */
  plan: z.number(),
  rate: z.number(),
  refusals: z.coerce.number(),
  /** Seconds since the server last refused; null where it never did. */
  lastRefusal: z.number().nullable(),
  /** Seconds for which nobody sends. */
  paused: z.number(),
});

/** The budget of each host, who lives on it, and who spent it in the last complete minute and hour. */
export interface Spending {
  readonly budgets: readonly z.infer<typeof BudgetStatus>[];
  readonly workers: readonly z.infer<typeof WorkerStatus>[];
  readonly spent: readonly z.infer<typeof Spent>[];
}

export async function readSpending(session: Session): Promise<Spending> {
  const budgets = await session.rows(
    sql`select host, rps as plan, refusals,
          floor(greatest(rps, 1)) * factor / (floor(greatest(rps, 1)) / rps + greatest(slack, 0.03)) as rate,
          case when refused_at > 0 then extract(epoch from clock_timestamp())::float8 - refused_at end as "lastRefusal",
          greatest(0, resumed_at - extract(epoch from clock_timestamp())::float8) as paused
        from etl.budget order by host`,
    BudgetStatus,
  );
  const workers = await session.rows(
    sql`select worker, host, extract(epoch from clock_timestamp() - seen_at)::float8 as silent, waiting
        from etl.workers order by host, worker`,
    WorkerStatus,
  );
  const spent = await session.rows(
    sql`select host, worker, priority, sum(requests) as "lastHour",
          coalesce(sum(requests) filter (where minute >= this - interval '1 minute'), 0) as "lastMinute"
        from etl.spending, date_trunc('minute', clock_timestamp()) this
        where minute >= this - interval '1 hour' and minute < this
        group by host, worker, priority order by host, worker, priority`,
    Spent,
  );
  return { budgets, workers, spent };
}
