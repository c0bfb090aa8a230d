import { stat, statfs } from 'node:fs/promises';
import {
  compareSchema,
  invalidIndexes,
  readLockRoom,
  rowSecurity,
  strayPartitions,
} from '../migrate/check-schema.ts';
import type { Database } from '../postgres/database.ts';
import { endpointOf } from '../ledger/failures.ts';
import { readStatus, type Status } from '../read/stored-status.ts';
import { readSpending } from '../ledger/workers.ts';
import { hasEnded, SILENT_SECONDS } from '../ledger/worker-name.ts';
import { readOwner } from '../ledger/holds.ts';
import { formatDuration } from '../range.ts';
import { programName } from '../terminal/program-name.ts';
import { readClock } from '../postgres/server-clock.ts';
import type { Config } from '../settings/config.ts';

/** If clocks differ by more seconds, logs are misleading and times such as -6h are wrong. */
const SKEW = 5;
/** If less of the plan's rate is used, the plan is probably smaller than the setting. */
const LEAST_FACTOR = 0.7;

/** Checks everything that the database alone can tell. `wallTime` is this machine's clock, unix seconds. */
export async function examineDatabase(database: Database, wallTime: () => number): Promise<DoctorFinding[]> {
  return [
    ...(await examineSchema(database)),
    ...(await examineLocks(database)),
    ...(await examineClock(database, wallTime)),
    ...(await examineRate(database)),
    ...(await examineDaemon(database)),
    ...(await examineState(database)),
  ];
}

async function examineSchema(database: Database): Promise<DoctorFinding[]> {
  const differences = await compareSchema(database);
  const invalid = await invalidIndexes(database);
  const stray = await strayPartitions(database);
  const secured = await rowSecurity(database);
  return [
    ...secured.map(({ table, what }) => ({
      check: 'row security',
      what,
      remedy: `If it is not wanted: \`alter table ${table} disable row level security\`, also for its partitions. An event trigger may switch it on for new tables.`,
    })),
    ...differences.map((what) => ({
      check: 'schema',
      what,
      remedy:
        'It was changed by hand: undo that, or restore a backup. `migrate` does not repair what an applied migration created.',
    })),
    ...invalid.map((name) => ({
      check: 'indexes',
      what: `the index ${name} is invalid: creating it failed, and no query uses it`,
      // Not by `sql`: a partitioned index cannot be rebuilt within a transaction.
      remedy: `psql "$(${programName} sql --url)" -c "reindex index ${name}"`,
    })),
    ...stray.map((what) => ({
      check: 'partitions',
      what,
      remedy:
        'Attach or detach it with `alter table ton.… attach partition`, and keep etl.partitions in step. No partition is created for a range that is listed there.',
    })),
  ];
}

/** A query over all partitions locks each of them and its indexes. All sessions share one lock table. */
async function examineLocks(database: Database): Promise<DoctorFinding[]> {
  const { relations, room, setting, transactions } = await readLockRoom(database);
  if (2 * relations <= room) return [];
  const enough = 2 ** Math.ceil(Math.log2((2 * relations) / transactions));
  return [
    {
      check: 'locks',
      what: `the partitions and their indexes are ${relations} relations, but the lock table of the server has room for ${room}. A query over all of them may fail with "out of shared memory", and make others fail`,
      remedy: `alter system set max_locks_per_transaction = ${Math.max(enough, 2 * setting)}; then restart Postgres. Longer partitions (ETL_PARTITION) need fewer locks.`,
    },
  ];
}

async function examineClock(database: Database, wallTime: () => number): Promise<DoctorFinding[]> {
  const before = wallTime();
  const there = await readClock(database);
  const here = (before + wallTime()) / 2;
  const skew = Math.abs(there - here);
  if (skew <= SKEW) return [];
  return [
    {
      check: 'clock',
      what: `this machine's clock and the database's differ by ${formatDuration(Math.round(skew))}`,
      remedy:
        'Synchronize both with a time server (chrony, systemd-timesyncd). `timedatectl` says whether a machine is synchronized.',
    },
  ];
}

async function examineRate(database: Database): Promise<DoctorFinding[]> {
  const { budgets } = await readSpending(database);
  return budgets
    .filter(
      ({ plan, rate, lastRefusal }) =>
        lastRefusal !== null && lastRefusal < 3600 && rate < LEAST_FACTOR * plan,
    )
    .map(({ host, plan, rate, refusals }) => ({
      check: 'rate',
      what: `${host} refuses at ${plan} requests a second (${refusals} refusals); at most ${rate.toFixed(1)} are sent now`,
      remedy:
        'Set TONCENTER_RPS to what the plan allows, or find out who else uses the key: the limit counts all processes.',
    }));
}

/** Reports a daemon that has run but sends no heartbeat: nothing follows the head, even if it was stopped on purpose. */
async function examineDaemon(database: Database): Promise<DoctorFinding[]> {
  const daemon = await readOwner(database, 'watermark');
  if (daemon === undefined || (daemon.silence <= SILENT_SECONDS && !hasEnded(daemon.owner))) return [];
  return [
    {
      check: 'daemon',
      what: `no heartbeat of a daemon for ${formatDuration(daemon.silence)}: nothing follows the head of the chain`,
      remedy: `Read its log, then start \`${programName} sync\`. If cron keeps the database up to date, no daemon is needed.`,
    },
  ];
}

async function examineState(database: Database): Promise<DoctorFinding[]> {
  const { drift, quarantined, refused, failures } = await readStatus(database);
  return [
    ...drift.map(({ dataset, path, type, times, example }) => ({
      check: 'drift',
      what: `${dataset} has a member ${path} (${type}) that has no column: in ${times} records, such as ${shorten(example)}`,
      remedy: 'Nothing is lost: the column extra contains it. A newer version may have a column for it.',
    })),
    ...[...quarantined].map(([dataset, records]) => ({
      check: 'quarantine',
      what: `${records} records of ${dataset} did not fit their schema`,
      remedy: `${programName} quarantine retry --only ${dataset} --again`,
    })),
    ...refused.map(({ dataset, reason, detail, attempts }) => ({
      check: 'refused',
      what: `a range of ${dataset} cannot be read: ${reason}, ${detail}; tried ${attempts} times`,
      remedy: `It is retried automatically, with growing pauses. \`${programName} status\` names the range.`,
    })),
    ...failures.map(findingOfFailure),
  ];
}

function findingOfFailure({ dataset, code, message, hint }: Status['failures'][number]): DoctorFinding {
  const path = endpointOf({ code, message });
  if (path !== undefined)
    return {
      check: 'endpoint',
      what: `the server has no ${path}, which ${dataset} needs`,
      remedy: `No other dataset is affected. Remove ${dataset} from ETL_DATASETS, or use a server of another build.`,
    };
  return {
    check: 'failures',
    what: `${dataset} failed last with ${code}: ${message}`,
    remedy: hint ?? `\`${programName} status\` says when. With LOG_LEVEL=debug, sync logs each request.`,
  };
}

function shorten(example: string | null): string {
  const text = example ?? 'null';
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}

/** A problem, and what to do about it. */
export interface DoctorFinding {
  /** The part that was checked: schema, clock, disk, … */
  readonly check: string;
  readonly what: string;
  readonly remedy: string;
}

/** Reports settings that have no effect, and a `.env` that other users can read. */
export async function examineSettings({ warnings }: Config): Promise<DoctorFinding[]> {
  return [...warnings, ...(await openFile())].map((warning) => ({ check: 'settings', ...warning }));
}

const READABLE_BY_OTHERS = 0o044;

/** `.env` often contains the key and the database's password. */
async function openFile(): Promise<Omit<DoctorFinding, 'check'>[]> {
  const found = await stat('.env').catch(() => undefined);
  if (found === undefined || (found.mode & READABLE_BY_OTHERS) === 0) return [];
  return [{ what: 'other users of this machine can read .env', remedy: 'Run chmod 600 .env.' }];
}

/** Warns if free space falls below this multiple of `ETL_MIN_FREE`. */
const NEARLY = 1.5;

/**
 * Compares the free bytes of the embedded database's disk with `ETL_MIN_FREE`. The disk of another server cannot be
 * checked.
 */
export async function examineDisk(minFree: number, dataDir: string | undefined): Promise<DoctorFinding[]> {
  if (dataDir === undefined) return [];
  const { bavail, bsize } = await statfs(dataDir);
  const free = bavail * bsize;
  if (free >= NEARLY * minFree) return [];
  const gigabytes = (bytes: number) => `${(bytes / 1e9).toFixed(1)} GB`;
  return [
    {
      check: 'disk',
      what: `${gigabytes(free)} are free on the disk of ${dataDir}; a crawl pauses below ${gigabytes(minFree)} (ETL_MIN_FREE)`,
      remedy: 'Free some space, set ETL_DATA_DIR to a larger disk, or lower ETL_MIN_FREE.',
    },
  ];
}
