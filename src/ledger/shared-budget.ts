import { sql } from 'drizzle-orm';
import * as z from 'zod';
import { type Budget, addCounts, rankOf, type Counts, type Priority } from '../budget/request-budget.ts';
import { type Clock, createInterruptibleSleep } from '../clock.ts';
import type { Session } from '../postgres/database.ts';
import { bare, insertInto } from '../postgres/sql.ts';
import { budget } from '../tables/etl/budget.ts';
import { toError } from '../errors.ts';

/** Minimum number of seconds between requests beyond the plan's spacing: `etl.least_slack()` in `budget.sql`. */
export const LEAST_SLACK_SECONDS = 0.03;

/** A slot that is not used within this time is dropped: used later, it could exceed the plan's rate in some second. */
const PATIENCE_MS = 1000 * LEAST_SLACK_SECONDS;

/** A probe is the only request of its pause, so it is used even if the process or the database is slow. */
const PROBE_PATIENCE_MS = 5000;

/** A grant may take this much longer than the quickest one. Beyond that, it is unknown when its slots are due. */
const MOST_DELAY_MS = 2 * PATIENCE_MS;

interface Slot {
  /** When the request may be sent, on the monotonic clock of this process. */
  readonly due: number;
  readonly generation: number;
  /** True if it was granted during a long pause, to probe whether it is over. */
  readonly isProbe: boolean;
}

/** The unused slots of a process. Times are milliseconds of its monotonic clock. */
function createSlots() {
  let slots: Slot[] = [];
  let quickest = Infinity;
  /** When each generation came into use. A refusal that can still arrive belongs to one of the last ones. */
  const used: { readonly generation: number; readonly since: number }[] = [];
  return {
    get count() {
      return slots.length;
    },
    /** Adds the slots of a grant that was requested at `asked` and received at `now`. */
    put: ({ granted, first, spacing, generation, paused }: Grant, asked: number, now: number) => {
      slots = slots.filter((slot) => slot.generation >= generation);
      quickest = Math.min(quickest, now - asked);
      // A process that was frozen, or waited for a busy machine, has an outdated grant.
      if (paused === 0 && now - asked > quickest + MOST_DELAY_MS) return;
      const answered = (asked + now) / 2;
      for (let n = 0; n < granted; n += 1)
        slots.push({ due: answered + 1000 * (first + n * spacing), generation, isProbe: paused > 0 });
    },
    /** Drops slots that were not used in time. Returns when the next one is due; Infinity if there is none. */
    nextDue: (now: number) => {
      slots = slots.filter(({ due, isProbe }) => due >= now - (isProbe ? PROBE_PATIENCE_MS : PATIENCE_MS));
      return slots[0]?.due ?? Infinity;
    },
    use: (now: number) => {
      const slot = slots.shift();
      if (slot === undefined || used.at(-1)?.generation === slot.generation) return slot;
      used.push({ generation: slot.generation, since: now });
      if (used.length > 16) used.shift();
      return slot;
    },
    /** The generation of the slot with which a request was sent at that time. */
    generationAt: (time: number) => (used.findLast(({ since }) => since <= time) ?? used[0])?.generation ?? 0,
    clear: () => {
      slots = [];
    },
  };
}

/** What a process asks of the budget's row. */
export interface Ask {
  readonly host: string;
  /** Requests a second that the plan allows. */
  readonly rps: number;
  /** Priority: 0 is the most urgent. */
  readonly rank: number;
  /** How many requests wait with this rank. */
  readonly wanted: number;
  /** True if an earlier reply without a slot named this time to ask again. */
  readonly called: boolean;
  /** Requests that the server let through since the last ask. */
  readonly succeeded: number;
  /** True until the process has had a slot: it may probe whether a long pause is over. */
  readonly isFirst?: boolean;
}

/** The reply. Times are in seconds from the moment of the grant, so that clocks of clients do not matter. */
const Grant = z.object({
  /** Number of slots granted. */
  granted: z.number(),
  /** Time until the first slot. */
  first: z.number(),
  /** Time from one slot to the next. */
  spacing: z.number(),
  /** Time after which to ask again. */
  again: z.number(),
  generation: z.coerce.number(),
  /**
   * Seconds that a pause of more than a minute still lasts: a slot that is granted meanwhile probes whether it is over.
   */
  paused: z.number(),
});

type Grant = z.infer<typeof Grant>;

const Missing = z.object({ granted: z.null() });

/**
 * Takes slots, or says when to ask again. Inserts the row if it does not exist. Each call is a transaction of its own.
 */
export async function takeSlots(session: Session, ask: Ask): Promise<Grant> {
  const { host, rps, rank, wanted, called, succeeded, isFirst = false } = ask;
  for (;;) {
    const [grant] = await session.rows(
      sql`select * from etl.take_slots(${host}, ${rps}, ${rank}, ${wanted}, ${called}, ${succeeded}, ${isFirst})`,
      Grant.or(Missing),
    );
    if (grant !== undefined && grant.granted !== null) return grant;
    await makeRow(session, host, rps);
  }
}

/** It is unknown what was sent before, so the first request waits as long as any other. */
async function makeRow(session: Session, host: string, rps: number): Promise<void> {
  const row = {
    host,
    rps,
    free_at: sql`extract(epoch from clock_timestamp()) + 1 / ${rps}::float8`,
    slack: 0,
    server_started_at: sql`extract(epoch from pg_postmaster_start_time())`,
  };
  await session.run(sql`${insertInto(budget, row)} on conflict (${bare(budget.host)}) do nothing`);
}

interface RefusedSlot {
  readonly host: string;
  /** Generation of the slot with which the refused request was sent. */
  readonly generation: number;
  /** The pause that the server asked for, in milliseconds. */
  readonly retryAfterMs: number | undefined;
}

/** Pauses all processes. Also lowers the rate, unless a refusal of this generation is known already. */
export async function refuseSlots(session: Session, refusal: RefusedSlot): Promise<void> {
  const { host, generation, retryAfterMs } = refusal;
  const pause = retryAfterMs === undefined ? null : retryAfterMs / 1000;
  await session.run(sql`select etl.refuse_slots(${host}, ${generation}, ${pause})`);
}

/** Ends the pause: a request that was sent during it, with a slot of this generation, succeeded. */
async function resumeSlots(session: Session, host: string, generation: number): Promise<void> {
  await session.run(sql`select etl.resume_slots(${host}, ${generation})`);
}

interface SharedBudgetOptions {
  readonly database: Session;
  /** Host (and port) of the API, which counts the requests. */
  readonly host: string;
  /** Requests a second that the plan allows. */
  readonly rps: number;
  readonly clock: Clock;
  /** Called when a pause of more than a minute begins, with its length in seconds, and with 0 when it ends. */
  readonly onPause?: (seconds: number) => void;
}

/** A budget, and how this process uses it. */
export interface SharedBudget extends Budget {
  /** Requests that are waiting now. */
  waiting(): Counts;
  /** Requests that were sent since the last call. */
  takeSpent(): Counts;
}

const OVERDUE_RANK = rankOf('repair');

/** Every event that matters ends the sleep; a timer holds no more than this. */
const LONGEST_SLEEP_MS = 60_000;

/**
 * The budget of all processes that share a database. Slots come from its row (`etl.take_slots`), several at once if no
 * other process needs them. Each goes to the most urgent waiter of this process when it is due.
 * @throws (from `take` and `refused`) the database's error if it is unreachable
 */
export function createSharedBudget(options: SharedBudgetOptions): SharedBudget {
  const { database, host, clock } = options;
  const pause = createInterruptibleSleep(clock);
  const slots = createSlots();
  let granting = false;
  let spent: Counts = {};
  /** Generation of the slot with which this process probed whether a long pause is over. */
  let probe: number | undefined;
  const grantInTime = async () => {
    granting = true;
    while (waiters.size > 0) {
      const now = clock.monotonic();
      const due = slots.nextDue(now);
      if (due > now) {
        await pause.sleep(Math.min(LONGEST_SLEEP_MS, due - now, asker.askForRest(now) - now));
        continue;
      }
      const slot = slots.use(now);
      if (slot?.isProbe === true) probe = slot.generation;
      spent = add(spent, waiters.grant());
    }
    granting = false;
  };
  const changed = () => {
    if (granting) pause.end();
    else void grantInTime();
  };
  const waiters = createWaiters({ changed, clock, spacingMs: () => asker.spacingMs });
  const asker = createAsker(options, { slots, waiters, answered: () => pause.end() });
  return {
    take: (priority, signal) => waiters.join(priority, signal),
    refused: (retryAfterMs, elapsedMs = 0) => {
      slots.clear();
      probe = undefined;
      const generation = slots.generationAt(clock.monotonic() - elapsedMs);
      return refuseSlots(database, { host, generation, retryAfterMs });
    },
    succeeded: async (elapsedMs) => {
      asker.succeeded();
      if (probe === undefined || slots.generationAt(clock.monotonic() - elapsedMs) !== probe) return;
      const generation = probe;
      probe = undefined;
      await resumeSlots(database, host, generation);
      asker.askAtOnce();
      pause.end();
    },
    pausedUntil: () => asker.pausedUntil(),
    waiting: () => waiters.inOrder().reduce<Counts>((counts, { priority }) => add(counts, priority), {}),
    takeSpent: () => {
      const taken = spent;
      spent = {};
      return taken;
    },
  };
}

interface AskerParts {
  readonly slots: ReturnType<typeof createSlots>;
  readonly waiters: Waiters;
  /** Called after each question, even if it failed. */
  readonly answered: () => void;
}

/** Asks the row, one question at a time, and knows for each rank when to ask again. */
function createAsker(
  { database, host, rps, clock, onPause }: SharedBudgetOptions,
  { slots, waiters, answered }: AskerParts,
) {
  const turns = new Map<number, { readonly at: number; readonly called: boolean }>();
  let succeeded = 0;
  let busy = false;
  let isFirst = true;
  let spacingMs = 1000 / rps;
  const pauses = createPauseWatch(clock, onPause);
  const ask = async (rank: number, wanted: number) => {
    const asked = clock.monotonic();
    const reported = succeeded;
    const called = turns.get(rank)?.called ?? false;
    const more = { called, succeeded: reported, isFirst };
    const grant = await takeSlots(database, { host, rps, rank, wanted, ...more });
    const now = clock.monotonic();
    succeeded -= reported;
    spacingMs = 1000 * grant.spacing;
    if (grant.granted > 0) isFirst = false;
    pauses.note(grant);
    slots.put(grant, asked, now);
    turns.set(rank, { at: now + 1000 * grant.again, called: grant.granted === 0 });
  };
  return {
    get spacingMs() {
      return spacingMs;
    },
    pausedUntil: () => pauses.until(),
    askAtOnce: () => turns.clear(),
    succeeded: () => {
      succeeded += 1;
    },
    /** Asks for waiters without a slot, the most urgent first. Returns when to ask if that is not due yet. */
    askForRest: (now: number): number => {
      const [first, ...others] = waiters.inOrder().slice(slots.count);
      if (first === undefined || busy) return Infinity;
      const rank = rankFor(first);
      const at = turns.get(rank)?.at ?? -Infinity;
      if (at > now) return at;
      busy = true;
      const alike = others.filter(
        (one) => one.priority === first.priority && one.isOverdue === first.isOverdue,
      );
      void ask(rank, 1 + alike.length)
        .catch((error: unknown) => waiters.fail(error))
        .then(() => {
          busy = false;
          answered();
        });
      return Infinity;
    },
  };
}

/** Keeps the last known state of a long pause, and reports when one begins and ends. */
function createPauseWatch(clock: Clock, onPause: SharedBudgetOptions['onPause']) {
  /** Unix milliseconds; 0 without a pause. */
  let until = 0;
  return {
    note: ({ paused }: Grant) => {
      const isNews = paused > 0 !== until > 0;
      until = paused > 0 ? clock.now() + 1000 * paused : 0;
      if (isNews) onPause?.(paused);
    },
    until: () => (until > clock.now() ? until : undefined),
  };
}

/** The rank to ask with. An overdue request ranks with the most urgent ones below the tail, in all processes. */
function rankFor({ priority, isOverdue }: ReturnType<Waiters['inOrder']>[number]): number {
  return isOverdue ? Math.min(rankOf(priority), OVERDUE_RANK) : rankOf(priority);
}

function add(counts: Counts, priority: Priority | undefined): Counts {
  return priority === undefined ? counts : addCounts(counts, { [priority]: 1 });
}

type Waiters = ReturnType<typeof createWaiters>;

interface Waiter {
  readonly priority: Priority;
  settle(error?: unknown): void;
}

/** Each waiting priority gets at least one slot in this many. */
const PASSED_OVER = 10;

interface WaitersOptions {
  /** Called after a request has joined, and after one was aborted. */
  readonly changed: () => void;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Milliseconds from one slot to the next. */
  readonly spacingMs: () => number;
}

/**
 * The requests of this process that wait for a slot: the more urgent first, then in order of arrival. No priority
 * starves. If a priority got nothing for as long as `PASSED_OVER` slots take, it goes first with one request.
 */
function createWaiters({ changed, clock, spacingMs }: WaitersOptions) {
  const waiting = new Set<Waiter>();
  /** Since when each priority has been waiting without a slot. */
  const since = new Map<Priority, number>();
  const countOf = (priority: Priority) => [...waiting].filter((one) => one.priority === priority).length;
  /** All waiting requests, the next one first. `isOverdue`: it goes before more urgent ones, once. */
  const inOrder = () => {
    const limit = clock.monotonic() - PASSED_OVER * spacingMs();
    const ranked = [...waiting].sort((a, b) => rankOf(a.priority) - rankOf(b.priority));
    const overdue = [...since]
      .filter(([, time]) => time <= limit)
      .sort(([, a], [, b]) => a - b)
      .flatMap(([priority]) => ranked.find((one) => one.priority === priority) ?? []);
    return [...overdue, ...ranked.filter((one) => !overdue.includes(one))].map((waiter) => ({
      waiter,
      priority: waiter.priority,
      isOverdue: overdue.includes(waiter),
    }));
  };
  return {
    get size() {
      return waiting.size;
    },
    inOrder,
    /** Resolves when granted. Rejects if the signal is aborted, and with the error given to `fail`. */
    join: async (priority: Priority, signal: AbortSignal) => {
      signal.throwIfAborted();
      await new Promise<void>((resolve, reject) => {
        const leave = () => {
          waiting.delete(waiter);
          resolve();
          changed();
        };
        const settle = (error?: unknown) => {
          waiting.delete(waiter);
          signal.removeEventListener('abort', leave);
          if (error === undefined) resolve();
          else reject(toError(error));
        };
        const waiter: Waiter = { priority, settle };
        signal.addEventListener('abort', leave, { once: true });
        if (countOf(priority) === 0) since.set(priority, clock.monotonic());
        waiting.add(waiter);
        changed();
      });
      signal.throwIfAborted();
    },
    /** Grants the first request and returns its priority; undefined if none waits. */
    grant: () => {
      const [first] = inOrder();
      if (first === undefined) return undefined;
      since.set(first.priority, clock.monotonic());
      first.waiter.settle();
      return first.priority;
    },
    fail: (error: unknown) => {
      for (const waiter of [...waiting]) waiter.settle(error);
    },
  };
}

const BudgetStatus = z.object({
  host: z.string(),
  /** Requests a second: the plan's rate, and the rate in use. */
  plan: z.number(),
  rate: z.number(),
  refusals: z.coerce.number(),
  /** Seconds since the server last refused; null if it never did. */
  lastRefusal: z.number().nullable(),
  /** Seconds for which all processes pause. */
  paused: z.number(),
});

export type BudgetStatus = z.infer<typeof BudgetStatus>;

/** The budget of each host. */
export function readBudgets(session: Session): Promise<BudgetStatus[]> {
  const { rps, factor, slack, refusals, refused_at, resumed_at } = budget;
  const now = sql`extract(epoch from clock_timestamp())::float8`;
  return session.rows(
    sql`select ${budget.host}, ${rps} as plan, ${refusals},
          etl.budget_rate(${rps}, ${factor}, ${slack}) as rate,
          case when ${refused_at} > 0 then ${now} - ${refused_at} end as "lastRefusal",
          greatest(0, ${resumed_at} - ${now}) as paused
        from ${budget} order by ${budget.host}`,
    BudgetStatus,
  );
}
