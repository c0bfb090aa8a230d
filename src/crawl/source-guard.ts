import * as z from 'zod';
import type { ApiClient, GetRequest } from '../api/client.ts';
import type { Clock } from '../clock.ts';
import { canonicalOf } from '../dataset/declaration/record.ts';
import { hash, seqno } from '../records/members.ts';
import { networkChanged, chainChanged, type ChainBlock } from '../ledger/stored-settings.ts';
import {
  type WrongNetworkError,
  ApiUnavailableError,
  AuthError,
  concernsRun,
  EtlError,
  IncompleteError,
  LeaseLostError,
  NoEndpointError,
} from '../errors.ts';
import { readChainInfo } from './source-chain.ts';
import { recordFailure, type Stream } from '../ledger/stored-coverage.ts';
import { isFaultOfDatabase } from '../postgres/translate.ts';
import type { Stop } from '../stop.ts';
import type { Session } from '../postgres/database.ts';

/*
 * Guards readers against their source: rows of another network are not written, and a failure for one request does not
 * stop the others.
 */

/** The API is up, but does not answer this request as it should. Another range or dataset may fare better. */
const ANSWERED_WRONGLY: ReadonlySet<string> = new Set([
  'api_failed',
  'api_timeout',
  'request_too_large',
  'bad_response',
]);

interface FailurePolicy {
  readonly context: { readonly api: ApiClient; readonly database: Session };
  /** The stream whose failure `status` shows. */
  readonly stream: Stream;
  readonly stop: Stop;
}

/**
 * Reads one range or walk, and decides whether its error also stops the others.
 *
 * An error stops only this one if the API refuses it for good, or if the API fails here but still answers the request
 * with which every run begins. An error stops all if the API is down, the database fails, the run's own cap is reached,
 * or a setting is wrong. In these cases the data is still at the source.
 * @returns the error that refuses this range or walk; undefined if it was read, lost to another worker, or stopped
 * @throws every error that stops the others too
 */
export async function readUnlessRefused(
  { context, stream, stop }: FailurePolicy,
  read: () => Promise<void>,
): Promise<EtlError | undefined> {
  try {
    await read();
    return undefined;
  } catch (error) {
    if (stop.finishing.aborted || error instanceof LeaseLostError) return undefined;
    if (!(error instanceof EtlError) || error instanceof IncompleteError) throw error;
    await recordFailure(context.database, stream, error).catch(() => undefined);
    if (isOfOneAlone(error)) return error;
    if (isOfSource(error) && (await answersElse(context, stop))) return error;
    throw error;
  }
}

/** True if the error is about one request only: another range or dataset may fare better. */
export function isOfOneAlone(error: EtlError): boolean {
  return (!concernsRun(error) && !isFaultOfDatabase(error)) || isAnsweredWrongly(error);
}

/** True if the API is up but answers badly: the cause may be the requested data. */
export function isAnsweredWrongly({ code }: EtlError): boolean {
  return ANSWERED_WRONGLY.has(code);
}

/** True if a source sends the error for everything, or a gateway for one endpoint. */
function isOfSource(error: EtlError): boolean {
  return error instanceof AuthError || error instanceof ApiUnavailableError;
}

/** True if the source answers another request. */
async function answersElse({ api }: FailurePolicy['context'], stop: Stop): Promise<boolean> {
  return readChainInfo(api, stop.leaving).then(
    () => true,
    () => false,
  );
}

/** The log level of a refusal. The client has already logged a missing endpoint once. */
export function levelOf(failure: EtlError): 'debug' | 'error' {
  return failure instanceof NoEndpointError ? 'debug' : 'error';
}

/** If no response has named the network for this long, the guard asks for it with one request. */
const ASKED_AFTER_MS = 45_000;
/** Until this age, readers do not wait for that request: otherwise all of them would stop for its duration. */
const BELIEVED_MS = 60_000;

/** The paths whose responses contain blocks, which name their network. */
const OF_BLOCKS = /^\/api\/v3\/(?:blocks$|masterchain)/;

/**
 * Ensures that all written rows are of the network that the database holds, even if another server takes over
 * the address.
 */
export interface NetworkGuard {
  /**
   * Requests the network's identity if no response has named it for a minute, if a request has failed since,
   * or if the last response named another one. If the first block of the chain is known, only the index's
   * first block identifies the network: a restarted chain has the same `global_id`.
   * @throws WrongNetworkError if it is another one
   */
  confirm(): Promise<void>;
  /** Begins a reading. */
  begin(): NetworkWatch;
}

/**
 * Guards one reading. Once another network has answered, nothing from this reading may be written, even if
 * the right network answers later.
 */
export interface NetworkWatch {
  /**
   * Like the guard's `confirm`. A response is certain only if this is called after it came: a request may fail
   * when a server is replaced, and be answered by the next one.
   * @throws WrongNetworkError if another network has answered since the reading began
   */
  confirm(): Promise<void>;
}

interface GuardOptions {
  readonly api: ApiClient;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** The global_id of the network that the database holds. The API has just named it. */
  readonly held: number;
  /** A masterchain block of the chain that the database holds: the index's first one, if it has a root hash. */
  readonly first?: ChainBlock | undefined;
  readonly signal: AbortSignal;
}

/**
 * Creates a guard, and the client that tells it which network answers. Most responses do not name their
 * network. So the guard relies on blocks, which come with each poll of the head, and stops everything as soon
 * as a block is of another network.
 */
export function createNetworkGuard({ api: bare, clock, held, first, signal }: GuardOptions): {
  readonly api: ApiClient;
  readonly network: NetworkGuard;
} {
  let namedAt = clock.monotonic();
  // While a server is being replaced, requests fail for other reasons than their rate.
  const failures = () => bare.stats.retries - bare.stats.refused;
  let namedAfter = failures();
  let sightings = 0;
  let latest: WrongNetworkError | undefined;
  let isAway = false;
  const foreignOf = (named: readonly number[]) => {
    const other = named.find((globalId) => globalId !== held);
    return other === undefined ? undefined : networkChanged(held, other);
  };
  const foreignBlock = (block: ChainBlock | undefined) => {
    if (block === undefined || first === undefined || block.seqno !== first.seqno) return undefined;
    return block.rootHash === first.rootHash ? undefined : chainChanged(first.seqno);
  };
  /** A request that was sent before another network appeared does not prove that the right network is back. */
  const openLook = () => {
    const [at, before, failed] = [clock.monotonic(), sightings, failures()];
    return (named: readonly number[], block?: ChainBlock) => {
      const foreign = foreignOf(named) ?? foreignBlock(block);
      if (foreign !== undefined) {
        [sightings, isAway, latest] = [sightings + 1, true, foreign];
        throw foreign;
      }
      const isNamed = first === undefined ? named.length > 0 : block !== undefined;
      if (!isNamed || before !== sightings) return;
      [namedAt, namedAfter, isAway] = [Math.max(namedAt, at), failed, false];
    };
  };
  const api = withLook(bare, openLook);
  const ask = oneAtATime(() => readChainInfo(api, signal));
  const confirm = async () => {
    const age = clock.monotonic() - namedAt;
    const isUnsure = isAway || failures() !== namedAfter;
    if (!isUnsure && age < ASKED_AFTER_MS) return;
    const answer = ask();
    if (isUnsure || age >= BELIEVED_MS) await answer;
    // The error reaches the callers that wait for the next answer.
    else answer.catch(() => undefined);
    if (isAway && latest !== undefined) throw latest;
  };
  const begin = (): NetworkWatch => {
    const before = sightings;
    const require = () => {
      if (before !== sightings && latest !== undefined) throw latest;
    };
    return {
      confirm: async () => {
        require();
        await confirm();
        require();
      },
    };
  };
  return { api, network: { confirm, begin } };
}

/** Calls `look` with the networks that a response names, before the response is read. */
function withLook(
  api: ApiClient,
  openLook: () => (named: readonly number[], first?: ChainBlock) => void,
): ApiClient {
  const looked = <T>(request: GetRequest<T>): GetRequest<T> => {
    const look = openLook();
    const { readBytes } = request;
    if (readBytes !== undefined)
      return {
        ...request,
        readBytes: async (body, how) => {
          look(namedInBytes(body));
          return readBytes(body, how);
        },
      };
    const { parse } = request;
    return {
      ...request,
      parse: (body, limit) => {
        look(namedIn(body), firstIn(body));
        return parse(body, limit);
      },
    };
  };
  return { ...api, get: (request) => api.get(OF_BLOCKS.test(request.path) ? looked(request) : request) };
}

/** Older servers omit `global_id`. The reader reports anything else that is wrong with a block. */
const Block = z.object({ global_id: z.coerce.number().nullish() }).nullish().catch(undefined);
const Blocks = z.object({ blocks: z.array(Block).nullish().catch(undefined), last: Block }).catch({});

const Info = z.object({ first: z.object({ seqno, root_hash: hash }) });

/** The index's first block, if the response names it. */
function firstIn(body: unknown): ChainBlock | undefined {
  const first = Info.safeParse(canonicalOf(Info, body)).data?.first;
  return first && { seqno: first.seqno, rootHash: first.root_hash };
}

function namedIn(body: unknown): number[] {
  const { blocks, last } = Blocks.parse(body);
  return [...(blocks ?? []), last].flatMap((block) => block?.global_id ?? []);
}

const MEMBER = '"global_id"';
const VALUE = /^\s*:\s*"?(-?\d+)/;
/** The longest value, with spaces around its colon. */
const LONGEST = 24;

function namedInBytes(body: Buffer): number[] {
  const named: number[] = [];
  for (let at = body.indexOf(MEMBER); at >= 0; at = body.indexOf(MEMBER, at + 1)) {
    const from = at + MEMBER.length;
    const value = VALUE.exec(body.toString('latin1', from, from + LONGEST))?.[1];
    if (value !== undefined) named.push(Number(value));
  }
  return named;
}

/** Runs work once for all callers that ask for it meanwhile. */
function oneAtATime<T>(work: () => Promise<T>): () => Promise<T> {
  let underWay: Promise<T> | undefined;
  return () => {
    underWay ??= work().finally(() => (underWay = undefined));
    return underWay;
  };
}
