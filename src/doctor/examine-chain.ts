import { watermarkNotKnown, type Watermark } from '../crawl/watermark/watermark.ts';
import type { ChainInfo } from '../crawl/chain-info.ts';
import type { Database } from '../postgres/database.ts';
import { networkMismatch, readNetwork } from '../ledger/stored-network.ts';
import { EtlError, isAbort } from '../errors.ts';
import { formatDuration } from '../range.ts';
import { endedAfter } from '../stop.ts';
import type { DoctorFinding } from './doctor-finding.ts';

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
