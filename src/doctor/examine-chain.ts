import { watermarkNotKnown, type Watermark } from '../crawl/watermark/watermark.ts';
import type { ChainInfo } from '../crawl/chain-info.ts';
import type { Database } from '../postgres/database.ts';
import { networkMismatch, readNetwork } from '../ledger/stored-network.ts';
import { EtlError, isAbort, NoEndpointError, NotFoundError } from '../errors.ts';
import { formatDuration, HOUR } from '../range.ts';
import { endedAfter } from '../stop.ts';
import type { DoctorFinding } from './examine-database.ts';
import type { ApiClient } from '../api/client.ts';
import { listOf } from '../api/response/parse-json.ts';
import { recordsOf } from '../crawl/collections/ask.ts';
import type { AnyJob, Dataset } from '../dataset/dataset.ts';
import type { Job, Rejected } from '../dataset/job.ts';
import type { Params } from '../dataset/paginators/paginator.ts';
import type { Walk } from '../dataset/walk.ts';
import type { Choices } from '../settings/config.ts';

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

/** Compares the network of the database with that of the API. */
async function examineNetwork(database: Database, { globalId }: ChainInfo): Promise<DoctorFinding[]> {
  const held = await readNetwork(database);
  if (held === undefined || held === globalId) return [];
  const { what, hint } = networkMismatch(held, globalId);
  return [{ check: 'network', what, remedy: hint }];
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
  /** The chosen datasets. */
  readonly datasets: readonly Dataset<AnyJob>[];
  readonly choices: Choices;
  readonly signal: AbortSignal;
}

/** A minimal request to a route that a dataset needs. */
interface Question {
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
  { endpoint, params, read, isOfOne }: Question,
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

function questionsOf(job: AnyJob, { chain, choices }: ExamineRoutesOptions): Question[] {
  if (job.kind === 'stream') return [questionOfStream(job, chain)];
  return job.walks.map((walk) => questionOfWalk(walk, chain, choices));
}

function questionOfStream(job: Job, { last, first }: ChainInfo): Question {
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

function questionOfWalk(walk: Walk, { last }: ChainInfo, choices: Choices): Question {
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
      return { ...walk.paginator.request(seqno) };
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
