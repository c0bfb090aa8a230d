import { stat, statfs } from 'node:fs/promises';
import {
  compareSchema,
  invalidIndexes,
  readLockRoom,
  rowSecurity,
  strayPartitions,
} from '../migrate/check-schema.ts';
import { type Database, readClock } from '../postgres/database.ts';
import { endpointOf } from '../ledger/stored-coverage.ts';
import { readStatus, type Status } from '../read/stored-status.ts';
import { readSpending, hasEnded, SILENT_SECONDS } from '../ledger/workers.ts';
import { readOwner } from '../ledger/leases.ts';
import { formatDuration, HOUR } from '../range.ts';
import { commandLine } from '../terminal/program-name.ts';
import type { Config, Choices } from '../settings/config.ts';
import { watermarkNotKnown, type Watermark } from '../crawl/watermark/watermark.ts';
import type { ChainInfo } from '../crawl/source-chain.ts';
import { chainMismatch, networkMismatch, readNetwork } from '../ledger/stored-settings.ts';
import { EtlError, isAbort, NoEndpointError, NotFoundError } from '../errors.ts';
import { ifThere } from '../files.ts';
import { endedAfter } from '../stop.ts';
import type { ApiClient } from '../api/client.ts';
import { listOf } from '../api/read-response.ts';
import { recordsOf } from '../crawl/collections/walk-context.ts';
import type { AnyJob, Dataset } from '../dataset/dataset.ts';
import type { Job, Rejected } from '../dataset/job.ts';
import type { Params } from '../dataset/paginators/paginator.ts';
import type { Walk } from '../dataset/collection.ts';

/** If clocks differ by more seconds, logs are misleading and times such as -6h are wrong. */
const SKEW = 5;
/** If less of the plan's rate is used, the plan is probably smaller than the setting. */
const LEAST_FACTOR = 0.7;

/** Checks everything that the database alone can tell. `wallTime` is this machine's clock, unix seconds. */
export async function examineDatabase(database: Database, wallTime: () => number): Promise<DoctorFinding[]> {
  const findings: DoctorFinding[] = [];
  for (const examine of [examineSchema, examineLocks, examineClock, examineRate, examineDaemon, examineState])
    for await (const finding of examine(database, wallTime)) findings.push(finding);
  return findings;
}

type Findings = AsyncGenerator<DoctorFinding, void>;

async function* examineSchema(database: Database): Findings {
  for (const { table, what } of await rowSecurity(database))
    yield {
      check: 'row security',
      what,
      remedy: `If it is not wanted: \`alter table ${table} disable row level security\`, also for its partitions. An event trigger may switch it on for new tables.`,
    };
  for (const what of await compareSchema(database))
    yield {
      check: 'schema',
      what,
      remedy:
        'It was changed by hand: undo that, or restore a backup. `migrate` does not repair what an applied migration created.',
    };
  for (const name of await invalidIndexes(database))
    yield {
      check: 'indexes',
      what: `the index ${name} is invalid: creating it failed, and no query uses it`,
      // Not by `sql`: a partitioned index cannot be rebuilt within a transaction.
      remedy: `psql "$(${commandLine('sql --url')})" -c "reindex index ${name}"`,
    };
  for (const what of await strayPartitions(database))
    yield {
      check: 'partitions',
      what,
      remedy:
        'Attach or detach it with `alter table ton.… attach partition`, and keep etl.partitions in step. No partition is created for a range that is listed there.',
    };
}

/** A query over all partitions locks each of them and its indexes. All sessions share one lock table. */
async function* examineLocks(database: Database): Findings {
  const { relations, room, setting, transactions } = await readLockRoom(database);
  if (2 * relations <= room) return;
  const enough = 2 ** Math.ceil(Math.log2((2 * relations) / transactions));
  yield {
    check: 'locks',
    what: `the partitions and their indexes are ${relations} relations, but the lock table of the server has room for ${room}. A query over all of them may fail with "out of shared memory", and make others fail`,
    remedy: `alter system set max_locks_per_transaction = ${Math.max(enough, 2 * setting)}; then restart Postgres. Longer partitions (ETL_PARTITION) need fewer locks.`,
  };
}

async function* examineClock(database: Database, wallTime: () => number): Findings {
  const before = wallTime();
  const there = await readClock(database);
  const here = (before + wallTime()) / 2;
  const skew = Math.abs(there - here);
  if (skew <= SKEW) return;
  yield {
    check: 'clock',
    what: `this machine's clock and the database's differ by ${formatDuration(Math.round(skew))}`,
    remedy:
      'Synchronize both with a time server (chrony, systemd-timesyncd). `timedatectl` says whether a machine is synchronized.',
  };
}

async function* examineRate(database: Database): Findings {
  for (const { host, plan, rate, refusals, lastRefusal } of (await readSpending(database)).budgets) {
    if (lastRefusal === null || lastRefusal >= HOUR || rate >= LEAST_FACTOR * plan) continue;
    yield {
      check: 'rate',
      what: `${host} refuses at ${plan} requests a second (${refusals} refusals); at most ${rate.toFixed(1)} are sent now`,
      remedy:
        'Set TONCENTER_RPS to what the plan allows, or find out who else uses the key: the limit counts all processes.',
    };
  }
}

/** Reports a daemon that has run but sends no heartbeat: nothing follows the head, even if it was stopped on purpose. */
async function* examineDaemon(database: Database): Findings {
  const daemon = await readOwner(database, 'watermark');
  if (daemon === undefined || (daemon.silence <= SILENT_SECONDS && !hasEnded(daemon.owner))) return;
  yield {
    check: 'daemon',
    what: `no heartbeat of a daemon for ${formatDuration(daemon.silence)}: nothing follows the head of the chain`,
    remedy: `Read its log, then start \`${commandLine('sync')}\`. If cron keeps the database up to date, no daemon is needed.`,
  };
}

async function* examineState(database: Database): Findings {
  const { drift, quarantined, refused, failures } = await readStatus(database);
  for (const { dataset, path, type, times, example } of drift)
    yield {
      check: 'drift',
      what: `${dataset} has a member ${path} (${type}) that has no column: in ${times} records, such as ${shorten(example)}`,
      remedy: 'Nothing is lost: the column extra contains it. A newer version may have a column for it.',
    };
  for (const [dataset, records] of quarantined)
    yield {
      check: 'quarantine',
      what: `${records} records of ${dataset} did not fit their schema`,
      remedy: commandLine(`quarantine retry --only ${dataset} --again`),
    };
  for (const { dataset, reason, detail, attempts } of refused)
    yield {
      check: 'refused',
      what: `a range of ${dataset} cannot be read: ${reason}, ${detail}; tried ${attempts} times`,
      remedy: `It is retried automatically, with growing pauses. \`${commandLine('status')}\` names the range.`,
    };
  for (const failure of failures) yield findingOfFailure(failure);
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
    remedy: hint ?? `\`${commandLine('status')}\` says when. With LOG_LEVEL=debug, sync logs each request.`,
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
  const found = await ifThere(stat('.env'));
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

/** If the newest block is older, the chain has stopped or the server lags; seconds. */
const STALE = 300;

/** The shared budget may be paused for minutes, which is too long for a diagnosis. */
const LONGEST_WAIT_MS = 45_000;

interface ExamineChainOptions {
  readonly database: Database;
  /** Sends one request: does the API answer, with this key? */
  readonly read: (signal: AbortSignal) => Promise<ChainInfo>;
  /** Sends a few requests: how far is it safe to read? */
  readonly readWatermark: (chain: ChainInfo, signal: AbortSignal) => Promise<Watermark>;
  readonly finishing: AbortSignal;
  /** Unix seconds; undefined if the chain's head does not follow the clock. */
  readonly now: number | undefined;
}

/** Compares the API's chain with the database and the clock. */
export async function examineChain({
  database,
  read,
  readWatermark,
  finishing,
  now,
}: ExamineChainOptions): Promise<DoctorFinding[]> {
  let chain: ChainInfo;
  try {
    chain = await read(endedAfter(finishing, LONGEST_WAIT_MS));
  } catch (error) {
    if (!isAbort(error) || finishing.aborted) throw error;
    return [
      {
        check: 'budget',
        what: `no request could be sent within ${LONGEST_WAIT_MS / 1000} s: the shared budget is used up or paused`,
        remedy:
          'Look at the budget in status: other processes use all of it, or the API has asked for a pause.',
      },
    ];
  }
  const network = await examineNetwork(database, chain);
  const watermark = examineWatermark(await readWatermark(chain, endedAfter(finishing, LONGEST_WAIT_MS)));
  return [...network, ...(now === undefined ? [] : examineHead(chain, now)), ...watermark];
}

/**
 * Turns a failed request into a finding.
 * @throws the error if it is not a failure of the API
 */
export function findingOf(error: unknown): DoctorFinding {
  if (!(error instanceof EtlError) || isAbort(error)) throw error;
  return { check: 'api', what: error.message, remedy: error.hint ?? 'Try again later.' };
}

/** Compares the network and the chain of the database with those of the API. */
async function examineNetwork(database: Database, { globalId, first }: ChainInfo): Promise<DoctorFinding[]> {
  const held = await readNetwork(database);
  if (held === undefined) return [];
  const other = held === globalId ? await chainMismatch(database, first) : networkMismatch(held, globalId);
  return other === undefined ? [] : [{ check: 'network', what: other.what, remedy: other.hint }];
}

/** A source without a watermark can never be read. */
function examineWatermark(watermark: Watermark): DoctorFinding[] {
  if (watermark.utime > 0) return [];
  return [
    {
      check: 'watermark',
      what: watermarkNotKnown(watermark).message,
      remedy:
        watermark.unfit === undefined
          ? 'Run doctor again in a minute: a block may be late. If nothing changes, the source has a gap near its head.'
          : 'The program needs the tops of all shards: masterchainBlockShardState, or shards of v2, with the masterchain block itself in it or in blocks.',
    },
  ];
}

/** Compares the API's newest block with the clock, `now` in unix seconds. */
function examineHead({ last }: ChainInfo, now: number): DoctorFinding[] {
  const age = now - last.utime;
  if (age >= -STALE && age <= STALE) return [];
  return [
    {
      check: 'head',
      what:
        age > 0
          ? `the newest masterchain block is ${formatDuration(age)} old`
          : `the newest masterchain block lies ${formatDuration(-age)} in the future`,
      remedy:
        age > 0
          ? 'The API lags or the network has stopped. Older data can still be read, and nothing is lost.'
          : "This machine's clock is slow: synchronize it with a time server.",
    },
  ];
}

interface ExamineRoutesOptions {
  readonly api: ApiClient;
  readonly chain: ChainInfo;
  readonly datasets: readonly Dataset<AnyJob>[];
  readonly choices: Choices;
  readonly signal: AbortSignal;
}

/** A minimal request to a route that a dataset needs. */
interface RouteQuestion {
  readonly endpoint: { readonly path: string } | { readonly method: string };
  readonly params: Params;
  /** What does not fit the schema. Throws if the response is not the endpoint's. */
  readonly read: (body: unknown) => readonly Pick<Rejected, 'path' | 'reason'>[];
  /** True if the request asks for one thing, which need not exist. */
  readonly isOfOne: boolean;
}

/** Sends a request to each route that the datasets need: a server may lack some, or answer in another form. */
export async function examineRoutes(options: ExamineRoutesOptions): Promise<DoctorFinding[]> {
  const findings: DoctorFinding[] = [];
  for (const dataset of options.datasets)
    for (const question of questionsOf(dataset.job, options)) {
      const what = await faultOf(options, question);
      if (what !== undefined)
        findings.push({
          check: 'routes',
          what: `${dataset.name} cannot be read from this server: ${what}`,
          remedy: `Remove ${dataset.name} from ETL_DATASETS, or use another server: docs/endpoints.md names the build.`,
        });
    }
  return findings;
}

/** What is wrong with a route; undefined if nothing is. */
async function faultOf(
  { api, signal }: ExamineRoutesOptions,
  { endpoint, params, read, isOfOne }: RouteQuestion,
): Promise<string | undefined> {
  const request = { params, parse: read, priority: 'tail', signal } as const;
  const name = 'path' in endpoint ? endpoint.path : `/api/v2/${endpoint.method}`;
  try {
    const { value } = await ('path' in endpoint
      ? api.get({ ...request, ...endpoint })
      : api.call({ ...request, ...endpoint }));
    const [first] = value;
    return first && `${name} answers in an unexpected form: ${first.path}: ${first.reason}`;
  } catch (error) {
    if (error instanceof NoEndpointError) return `it has no ${name}`;
    if (isOfOne && error instanceof NotFoundError) return undefined;
    // If the server cannot be reached, that concerns all routes, and is a finding of its own.
    if (!(error instanceof EtlError) || (error.retryable && error.code !== 'bad_response')) throw error;
    return error.message;
  }
}

function questionsOf(job: AnyJob, { chain, choices }: ExamineRoutesOptions): RouteQuestion[] {
  if (job.kind === 'stream') return [questionOfStream(job, chain)];
  return job.walks.map((walk) => questionOfWalk(walk, chain, choices));
}

function questionOfStream(job: Job, { last, first }: ChainInfo): RouteQuestion {
  const span = { from: Math.max(first.utime, last.utime - HOUR), to: last.utime };
  const paging = job.paginator.request(job.paginator.start(span), 1);
  const scope = job.scopes === undefined ? {} : { [job.scopes.param]: ELECTOR };
  return {
    endpoint: { path: job.path },
    params: { ...job.params, ...scope, ...paging },
    read: (body) => job.read(listOf(job.list)(body)).rejected,
    isOfOne: job.scopes !== undefined,
  };
}

function questionOfWalk(walk: Walk, { last }: ChainInfo, choices: Choices): RouteQuestion {
  const asked = { at: new Date(0).toISOString(), key: '' };
  return {
    endpoint: walk.endpoint,
    params: { ...walk.params(choices), ...paramsOf(walk, last.seqno) },
    read: (body) => walk.read(recordsOf(walk.shape, body), asked, 0).rejected,
    isOfOne: walk.kind !== 'list' && walk.kind !== 'sample',
  };
}

function paramsOf(walk: Walk, seqno: number): Params {
  switch (walk.kind) {
    case 'list':
      return { limit: 1, offset: 0 };
    case 'sample':
      return {};
    case 'per_block':
      return { seqno };
    case 'backward':
      return { address: ELECTOR, limit: 1 };
    case 'lookup': {
      const { param } = walk.paginator;
      const fields = walk.subjects.seenIn.flatMap(({ fields = [] }) => fields);
      const known: Params = { ...ANY, seqno };
      if (param === '') return Object.fromEntries(fields.map((name) => [name, known[name]]));
      return { [param]: known[param] ?? ELECTOR, ...(walk.paginator.limited && { limit: 1 }) };
    }
  }
}

/** The account of the elector, which exists in every network. */
const ELECTOR = `-1:${'3'.repeat(64)}`;
/** Values for required parameters. */
const ANY: Params = {
  address: ELECTOR,
  source: ELECTOR,
  destination: ELECTOR,
  created_lt: '1',
  domain: 'foundation.ton',
  workchain: -1,
  shard: String(-(2n ** 63n)),
};
