import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { sql } from 'drizzle-orm';
import * as z from 'zod';
import { type Counts, addCounts } from '../budget/request-budget.ts';
import type { Session } from '../postgres/database.ts';
import { bare, excluded, insertInto, jsonParam, setExcluded } from '../postgres/sql.ts';
import { spending, workers } from '../tables/etl/budget.ts';
import { every, type Clock } from '../clock.ts';
import type { Logger } from '../logger.ts';
import { type SharedBudget, type BudgetStatus, readBudgets } from './shared-budget.ts';
import { codeOf } from '../errors.ts';

/** Milliseconds between two heartbeats. */
const PERIOD_MS = 5000;

interface HeartbeatOptions {
  readonly database: Session;
  readonly worker: Worker;
  readonly budget: SharedBudget;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Reports to the database every few seconds that this process is alive and which requests it has spent, for `status`.
 * Nothing depends on it. If the database is unreachable, the requests are reported once it is back.
 */
export function startHeartbeat({ database, worker, budget, clock, logger }: HeartbeatOptions): {
  stop(): Promise<void>;
} {
  const stopping = new AbortController();
  let unreported: Counts = {};
  /** False if the database is unreachable. */
  const report = async (): Promise<boolean> => {
    unreported = addCounts(unreported, budget.takeSpent());
    try {
      await reportWorker(database, worker, budget.waiting(), unreported);
      unreported = {};
      return true;
    } catch (error) {
      logger.debug({ worker: worker.name, reason: String(error) }, 'heartbeat failed');
      return false;
    }
  };
  const beating = every(clock, { pauseMs: PERIOD_MS, signal: stopping.signal }, report);
  return {
    stop: async () => {
      stopping.abort();
      await beating;
      if (await report()) await forgetWorker(database, worker).catch(() => undefined);
    },
  };
}

/** A process that reads an API. */
export interface Worker {
  /** Its name in leases and pages. */
  readonly name: string;
  /** Host (and port) of the API. */
  readonly host: string;
}

/** Writes a heartbeat: the process is alive, how many of its requests wait, and what it has sent since the last one. */
export async function reportWorker(
  session: Session,
  { name, host }: Worker,
  waiting: Counts,
  spent: Counts,
): Promise<void> {
  const { minute, worker, priority, requests } = spending;
  const key = bare(spending.host, minute, worker, priority);
  await session.run(sql`
    with alive as (
      ${insertInto(workers, { worker: name, host, waiting: jsonParam(waiting) })}
      on conflict (${bare(workers.worker)}) do update
        set ${setExcluded(workers.waiting)}, ${bare(workers.seen_at)} = default)
    insert into ${spending} (${key}, ${bare(requests)})
    select ${host}, date_trunc('minute', clock_timestamp()), ${name}, s.key, s.value::int
    from jsonb_each_text(${jsonParam(spent)}) s
    on conflict (${key}) do update set ${bare(requests)} = ${requests} + ${excluded(requests)}`);
}

/** A process that has not reported for this long has ended. */
const GONE_SECONDS = 300;

/** Called when a process ends. Also deletes rows that crashed processes left, and those older than a day. */
export async function forgetWorker(session: Session, { name }: Worker): Promise<void> {
  await session.run(sql`
    delete from ${workers}
    where ${workers.worker} = ${name} or ${workers.seen_at} < clock_timestamp() - interval '1 day'`);
  await session.run(
    sql`delete from ${spending} where ${spending.minute} < clock_timestamp() - interval '1 day'`,
  );
}

const counts = z.record(z.string(), z.coerce.number());

const WorkerStatus = z.object({
  worker: z.string(),
  host: z.string(),
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

/** The budget of each host, the workers that share it, and what they spent in the last complete minute and hour. */
export interface Spending {
  readonly budgets: readonly BudgetStatus[];
  readonly workers: readonly z.infer<typeof WorkerStatus>[];
  readonly spent: readonly z.infer<typeof Spent>[];
}

export async function readSpending(session: Session): Promise<Spending> {
  const budgets = await readBudgets(session);
  const alive = await session.rows(
    sql`select ${workers.worker}, ${workers.host}, ${workers.waiting},
          extract(epoch from clock_timestamp() - ${workers.seen_at})::float8 as silent
        from ${workers} where ${workers.seen_at} > clock_timestamp() - make_interval(secs => ${GONE_SECONDS})
        order by ${workers.host}, ${workers.worker}`,
    WorkerStatus,
  );
  const { host, minute, worker, priority, requests } = spending;
  const spent = await session.rows(
    sql`select ${host}, ${worker}, ${priority}, sum(${requests}) as "lastHour",
          coalesce(sum(${requests}) filter (where ${minute} >= this - interval '1 minute'), 0) as "lastMinute"
        from ${spending}, date_trunc('minute', clock_timestamp()) this
        where ${minute} >= this - interval '1 hour' and ${minute} < this
        group by ${host}, ${worker}, ${priority} order by ${host}, ${worker}, ${priority}`,
    Spent,
  );
  return { budgets, workers: alive.filter((one) => !hasEnded(one.worker)), spent };
}

/** A process writes a heartbeat every five seconds. If it is silent for longer than this, it counts as ended. */
export const SILENT_SECONDS = 20;

/** Host, process and a random part: identifies a process in leases, pages and the budget. */
export function nameOfProcess(): string {
  return `${hostname()}/${process.pid}/${randomBytes(3).toString('hex')}`;
}

/**
 * True if the name is that of a process of this host that has ended. A process of another host counts as alive, and so
 * does one whose pid is in use again. Two containers with one host name may each consider the other dead: then work is
 * done twice, never lost.
 */
export function hasEnded(name: string): boolean {
  const [host, pid] = name.split('/');
  if (host !== hostname() || pid === undefined || !/^\d+$/.test(pid)) return false;
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    return codeOf(error) === 'ESRCH';
  }
}
