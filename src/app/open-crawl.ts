import { type ApiClient, createApiClient } from '../api/client.ts';
import { openRecorder } from '../api/transport.ts';
import { type Budget, createInFlight } from '../budget/request-budget.ts';
import { systemClock, unixSeconds } from '../clock.ts';
import {
  type CrawlContext,
  type PageEvent,
  type Tuning,
  createDiskGuard,
  noDiskGuard,
} from '../crawl/crawl-context.ts';
import {
  createPageSize,
  createLimitTrust,
  createDensity,
  createLtBounds,
  leaseLength,
} from '../crawl/request-bounds.ts';
import { createNetworkGuard } from '../crawl/source-guard.ts';
import { createPlanner } from '../crawl/streams/planner.ts';
import {
  masterchainId,
  type Asking,
  namedBlock,
  type ChainInfo,
  readChainInfo,
} from '../crawl/source-chain.ts';
import type { Dataset } from '../dataset/dataset.ts';
import {
  type ChainBlock,
  claimChain,
  claimNetwork,
  readNetwork,
  decideSetting,
  readSetting,
  SIMULATED,
  SIMULATED_LIVE,
} from '../ledger/stored-settings.ts';
import { startHeartbeat, hasEnded, nameOfProcess } from '../ledger/workers.ts';
import { releaseHeldBy } from '../ledger/leases.ts';
import { createSharedBudget } from '../ledger/shared-budget.ts';
import { createPartitions } from '../write/target.ts';
import { UsageError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import { makeFolder } from '../files.ts';
import { formatTime, HOUR } from '../range.ts';
import type { Config } from '../settings/config.ts';
import type { SimulatorOptions } from '../simulator/http/server.ts';
import type { Stop } from '../stop.ts';
import { keepCaller, type Store } from './open-store.ts';

export type Crawl = Awaited<ReturnType<typeof openCrawl>>;

interface ClientParts {
  readonly config: Config;
  readonly logger: Logger;
  readonly stop: Stop;
  readonly baseUrl: string;
  /** Stores the request budget that all processes share. */
  readonly store: Store;
  /** Name of this process in leases, pages and `status`. */
  readonly owner?: string;
  /** Wraps the budget, for a run with a cap on its requests. */
  readonly budget?: (budget: Budget) => Budget;
  /** The directory in which every response is recorded. */
  readonly record?: string | undefined;
  /** From 0 to 1, for the pauses between attempts: 0 means no pauses. */
  readonly random?: () => number;
}

/** A client of the API at `baseUrl`, within the rate of the settings. */
export function openApi(options: ClientParts): ApiClient {
  const { config, logger, stop, baseUrl, budget, record, random = Math.random } = options;
  const recorder = record === undefined ? undefined : openRecorder(record, systemClock);
  const shared = openBudget(options);
  const client = createApiClient({
    baseUrl,
    apiKey: config.apiKey,
    proxy: config.proxyFor(baseUrl),
    budget: budget?.(shared) ?? shared,
    inFlight: createInFlight({ rps: config.rps, clock: systemClock }),
    logger,
    clock: systemClock,
    signal: stop.leaving,
    finishing: stop.finishing,
    random,
    attempts: config.attempts,
    recorder,
  });
  const close = async () => {
    await client.close();
    await shared.close();
    recorder?.close();
  };
  return { ...client, close };
}

function openBudget({ config, logger, baseUrl, store, owner = nameOfProcess() }: ClientParts): Budget & {
  close(): Promise<void>;
} {
  const { database } = store;
  const { host } = new URL(baseUrl);
  const onPause = (seconds: number) => {
    if (seconds === 0) logger.warn({ host }, 'pause over: the API answers again');
    else
      logger.warn(
        { host, until: formatTime(systemClock.now() / 1000 + seconds) },
        'pausing: the API sent Retry-After; single requests probe whether it is over',
      );
  };
  const budget = createSharedBudget({ database, host, rps: config.rps, clock: systemClock, onPause });
  const worker = { name: owner, host };
  const heartbeat = startHeartbeat({ database, worker, budget, clock: systemClock, logger });
  return { ...budget, close: () => heartbeat.stop() };
}

/** Connects a store to an API: the budget, the client, and the check that both are of the same network. */
export async function openCrawl(options: ClientParts) {
  const { config, store, stop, owner = nameOfProcess(), record } = options;
  if (record !== undefined) await makeFolder(record);
  const api = openApi({ ...options, owner });
  try {
    const chain = await readChainInfo(api, stop.finishing);
    await claimNetwork(store.database, chain.globalId);
    await keepCaller(store.database, config);
    const first = await claimBlock(store, api, chain, stop.finishing);
    // Claims under this name are of an earlier run of this process, which ended because another server answered.
    const isGone = (name: string) => name === owner || hasEnded(name);
    await releaseHeldBy(store.database, isGone);
    const guarded = createNetworkGuard({
      api,
      clock: systemClock,
      held: chain.globalId,
      first,
      signal: stop.finishing,
    });
    return { ...assemble(options, guarded, owner), owner, chain, close: () => api.close() };
  } catch (error) {
    await api.close();
    throw error;
  }
}

/**
 * Requires that the chain is the one in the database. Returns the block that identifies it, if the API sends its hash.
 */
async function claimBlock(
  { database }: Store,
  api: ApiClient,
  { first: { seqno, rootHash } }: ChainInfo,
  signal: AbortSignal,
): Promise<ChainBlock | undefined> {
  if (rootHash === undefined) return undefined;
  const asking: Asking = { api, priority: 'tail', signal };
  const rootHashOf = async (of: number) =>
    (await namedBlock(asking, masterchainId(of)))?.root_hash ?? undefined;
  await claimChain(database, { seqno, rootHash }, rootHashOf);
  return { seqno, rootHash };
}

function assemble(
  { config, store, logger }: ClientParts,
  { api, network }: Pick<CrawlContext, 'api' | 'network'>,
  owner: string,
) {
  const { database } = store;
  const listeners: ((event: PageEvent) => void)[] = [warnOfUnfit(logger)];
  const tuning = rememberTuning(logger);
  const lengthOf = (dataset: Dataset, streams: number) =>
    leaseLength(api.inFlight.target / streams, tuning(dataset).density.pageSeconds());
  const context: CrawlContext = {
    api,
    network,
    lts: createLtBounds({ api, database }),
    database,
    partitions: createPartitions(database, config.partition),
    clock: systemClock,
    random: Math.random,
    attempts: config.attempts,
    logger,
    disk:
      store.embedded === undefined
        ? noDiskGuard
        : createDiskGuard(store.embedded.dataDir, config.minFree, systemClock, logger),
    tuning,
    onPage: (event) => {
      for (const listener of listeners) listener(event);
    },
  };
  return {
    planner: createPlanner({ database, owner, lengthOf }),
    context,
    /** Calls a listener with each page that is committed from now on. */
    subscribe: (listener: (event: PageEvent) => void) => void listeners.push(listener),
  };
}

/** Maximum number of reasons that are remembered. If each record had its own, they would fill the log. */
const MOST_REASONS = 100;

/** Logs each reason for quarantine once. */
function warnOfUnfit(logger: Logger): (event: PageEvent) => void {
  const warned = new Set<string>();
  return ({ dataset, records, unfit = [] }) => {
    for (const { path, reason } of unfit) {
      const pattern = path.replaceAll(/\d+/g, '*').slice(0, 100);
      const key = `${dataset} ${pattern} ${reason}`;
      if (warned.has(key) || warned.size >= MOST_REASONS) continue;
      warned.add(key);
      logger.warn(
        { dataset, path: pattern, reason, found: unfit.length, records },
        'records do not fit the schema and go to quarantine',
      );
    }
  };
}

function rememberTuning(logger: Logger): (dataset: Dataset) => Tuning {
  const known = new Map<string, Tuning>();
  return ({ name, job }) => {
    const tuning = known.get(name) ?? {
      size: createPageSize(job.paginator.maxSize),
      density: createDensity(job.paginator.maxSize),
      limits: createLimitTrust((limit) => {
        logger.warn({ dataset: name, limit }, 'server limits rows per page; requesting fewer');
      }),
    };
    known.set(name, tuning);
    return tuning;
  };
}

/** A live demo network starts with this much history, so that there is something to backfill. */
const HISTORY = HOUR;
/** The live network is regenerated in memory at each start. A longer one would take too much memory. */
const LONGEST_LIFE = 12 * HOUR;

/**
 * The host of TONCENTER_NETWORK; for `demo`, a simulator in this process. `still` serves the fixed network of `demo`,
 * `live` one whose head moves with the wall clock. A database that has followed the live one stays with it.
 * @throws UsageError if the database's live demo network is too old, or if it holds the fixed one
 */
export async function openSource(config: Config, store: Store, demo: 'still' | 'live') {
  if (config.baseUrl !== undefined) return { baseUrl: config.baseUrl, close: () => Promise.resolve() };
  const network = await demoOptions(store, demo);
  const rateLimit = { kind: 'sliding-window', rps: config.rps, graceMs: 100 } as const;
  // Imported here because only the demo network needs it.
  const { startSimulator } = await import('../simulator/http/server.ts');
  const simulator = await startSimulator({ ...network, rateLimit });
  return { baseUrl: simulator.url, close: () => simulator.close() };
}

async function demoOptions({ database, embedded }: Store, demo: 'still' | 'live'): Promise<SimulatorOptions> {
  const stored = (await readSetting(database, 'demo'))?.genesis;
  if (stored === undefined && demo === 'still') return demoNetwork;
  const another =
    embedded === undefined
      ? 'set DATABASE_URL to an empty database'
      : `set ETL_DATA_DIR to a new directory, or remove ${embedded.dataDir}`;
  if ((await readNetwork(database)) === demoNetwork.globalId) {
    throw new UsageError('this database holds the fixed demo network, which has no live head to follow', {
      hint: `To follow the live demo network ${another}.`,
    });
  }
  const now = unixSeconds(systemClock);
  const genesis = stored ?? (await decideSetting(database, 'demo', { genesis: now - HISTORY })).genesis;
  if (now - genesis > LONGEST_LIFE) {
    throw new UsageError(
      `the demo network of this database began at ${formatTime(genesis)} and is over: it lasts ${LONGEST_LIFE / HOUR} hours`,
      { hint: `Stored data stays; status and sql show it. To start over ${another}.` },
    );
  }
  // The same chain at each start that names the same first second.
  return { ...LIVELY, start: genesis, live: {}, globalId: SIMULATED_LIVE };
}

const LIVELY = { seed: 2026, load: { base: 4, dayCycle: 0.3 }, accounts: 800 } as const;

/** The network of `demo`: two hours that are always the same, so that a second run finds everything covered. */
export const demoNetwork = {
  ...LIVELY,
  start: Date.UTC(2026, 0, 1) / 1000,
  duration: 2 * 3600,
  globalId: SIMULATED,
} satisfies SimulatorOptions;
