import * as z from 'zod';
import type { ApiClient, GetRequest } from '../api/client.ts';
import type { Clock } from '../clock.ts';
import { canonicalOf } from '../dataset/declaration/canonical.ts';
import { hash, seqno } from '../records/members/form.ts';
import { networkChanged, otherChain, type ChainBlock } from '../ledger/stored-network.ts';
import type { WrongNetworkError } from '../errors.ts';
import { readChainInfo } from './chain-info.ts';

/** Where nothing has named the network for so long, it is asked for: one request. */
const ASKED_AFTER_MS = 45_000;
/** For so long nobody waits for the answer: all readers would stand still for as long as it takes. */
const BELIEVED_MS = 60_000;

/** The paths whose responses are blocks, which name their network. */
const OF_BLOCKS = /^\/api\/v3\/(?:blocks$|masterchain)/;

/** Sees to it that all that is written is of the network that the database holds, whatever comes to answer behind the address. */
export interface NetworkGuard {
  /**
   * Asks which network answers if no response has named it for a minute or since a request failed, or if the last one named
   * another. If the first block of the chain is known, only the index's first block is a name: a chain that was begun anew has
   * the same `global_id`.
   * @throws WrongNetworkError where it is another one
   */
  confirm(): Promise<void>;
  /** The beginning of a reading. */
  begin(): NetworkWatch;
}

/** Of one reading: once another network has answered, nothing that it read may be written, whoever answers later. */
export interface NetworkWatch {
  /** As the guard's, and throws what `require` throws. */
  confirm(): Promise<void>;
  /** @throws WrongNetworkError where another network has answered since the reading began */
  require(): void;
}

interface GuardOptions {
  readonly api: ApiClient;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** The global_id of the network that the database holds, which the API has just named. */
  readonly held: number;
  /** A masterchain block of the chain that the database holds: the index's first one, where it names its root hash. */
  readonly first?: ChainBlock | undefined;
  readonly signal: AbortSignal;
}

/**
 * A guard, and the client that tells it which network answers. Most responses do not name their network. So the guard
 * believes what blocks say, which come with each poll of the head, and holds everything up as soon as one is of another.
 */
export function createNetworkGuard({ api: bare, clock, held, first, signal }: GuardOptions): {
  readonly api: ApiClient;
  readonly network: NetworkGuard;
} {
  let namedAt = clock.monotonic();
  // A server that was exchanged for another lets requests fail meanwhile, for another reason than their rate.
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
    return block.rootHash === first.rootHash ? undefined : otherChain(first.seqno);
  };
  /** What was asked for before another network was seen does not tell that the own one is back. */
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
    // Whoever waits for the next answer hears of its error.
    else answer.catch(() => undefined);
    if (isAway && latest !== undefined) throw latest;
  };
  const begin = (): NetworkWatch => {
    const before = sightings;
    const require = () => {
      if (before !== sightings && latest !== undefined) throw latest;
    };
    return {
      require,
      confirm: async () => {
        require();
        await confirm();
      },
    };
  };
  return { api, network: { confirm, begin } };
}

/** Calls `look` with the networks that a response names, before anybody reads it. */
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

/** An older server leaves it out; what else is wrong with a block is the reader's to say. */
const Block = z.object({ global_id: z.coerce.number().nullish() }).nullish().catch(undefined);
const Blocks = z.object({ blocks: z.array(Block).nullish().catch(undefined), last: Block }).catch({});

const Info = z.object({ first: z.object({ seqno, root_hash: hash }) });

/** The index's first block, of a response that names it. */
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

/** Work of which one run serves all who ask for it while it lasts. */
function oneAtATime<T>(work: () => Promise<T>): () => Promise<T> {
  let underWay: Promise<T> | undefined;
  return () => {
    underWay ??= work().finally(() => {
      underWay = undefined;
    });
    return underWay;
  };
}
