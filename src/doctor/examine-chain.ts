import type { Watermark } from '../crawl/watermark/watermark.ts';
import type { ChainInfo } from '../crawl/chain-info.ts';
import type { Database } from '../postgres/database.ts';
import { networkMismatch, readNetwork } from '../ledger/stored-network.ts';
import { EtlError, isAbort } from '../errors.ts';
import { formatDuration } from '../range.ts';
import { endedAfter } from '../stop.ts';
import type { DoctorFinding } from './doctor-finding.ts';

/** A chain whose newest block is older than this stands still, or the server that was asked lags; seconds. */
const STALE = 300;

/** A shared budget may be paused for minutes: longer than this nobody waits for a diagnosis. */
const LONGEST_WAIT_MS = 45_000;

interface ExamineChainOptions {
  readonly database: Database;
  /** One request: whether the API answers, with this key. */
  readonly read: (signal: AbortSignal) => Promise<ChainInfo>;
  /** A few requests: how far it is safe to read. */
  readonly readWatermark: (chain: ChainInfo, signal: AbortSignal) => Promise<Watermark>;
  readonly finishing: AbortSignal;
  /** Unix seconds; undefined where the chain's head does not follow the clock. */
  readonly now: number | undefined;
}

/** Compares what the API says of the chain with the database and the clock. */
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
        remedy: 'See the budget in status: other processes take all of it, or the API has asked for a pause.',
      },
    ];
  }
  const network = await examineNetwork(database, chain);
  const watermark = examineWatermark(await readWatermark(chain, endedAfter(finishing, LONGEST_WAIT_MS)));
  return [...network, ...(now === undefined ? [] : examineHead(chain, now)), ...watermark];
}

/**
 * What a failed request is for a diagnosis.
 * @throws what is no failure of the API
 */
export function findingOf(error: unknown): DoctorFinding {
  if (!(error instanceof EtlError) || isAbort(error)) throw error;
  return { check: 'api', what: error.message, remedy: error.hint ?? 'Try again later.' };
}

/** Compares the network of the database with the one that the API serves. */
async function examineNetwork(database: Database, { globalId }: ChainInfo): Promise<DoctorFinding[]> {
  const held = await readNetwork(database);
  if (held === undefined || held === globalId) return [];
  const { what, hint } = networkMismatch(held, globalId);
  return [{ check: 'network', what, remedy: hint }];
}

/** A source of which no watermark can be known can never be read. */
function examineWatermark({ utime, waitingFor, unfit }: Watermark): DoctorFinding[] {
  if (utime > 0) return [];
  return [
    {
      check: 'watermark',
      what: `how far it is safe to read is not known: ${unfit ?? `waiting for ${waitingFor ?? 'blocks'}`}`,
      remedy:
        unfit === undefined
          ? 'Run doctor again in a minute: a block may be on its way. If it stays so, the source has a gap near its head.'
          : 'The program needs the tops of all shards: masterchainBlockShardState, or shards of v2, with the masterchain block itself in it or in blocks.',
    },
  ];
}

/** Compares the newest block that the API shows with the clock, `now` in unix seconds. */
function examineHead({ last }: ChainInfo, now: number): DoctorFinding[] {
  const age = now - last.utime;
  if (age >= -STALE && age <= STALE) return [];
  return [
    {
      check: 'head',
      what:
        age > 0
          ? `the newest block that the API shows is ${formatDuration(age)} old`
          : `the newest block that the API shows lies ${formatDuration(-age)} in the future`,
      remedy:
        age > 0
          ? 'The API lags or the network stands still: what is older is read meanwhile, nothing is lost.'
          : "This machine's clock is slow: let it follow a time server.",
    },
  ];
}
