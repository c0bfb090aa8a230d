import { WrongDatabaseError, WrongNetworkError } from '../errors.ts';
import { sql } from 'drizzle-orm';
import * as z from 'zod';
import { MASTERCHAIN } from '../ton/shard.ts';
import { decideSetting, keepSetting, readSetting } from './stored-settings.ts';
import type { Session } from '../postgres/database.ts';

/** The global_id of mainnet. */
export const MAINNET = -239;

/** The global_id of every simulated network. */
export const SIMULATED = -777;

const NAMES: ReadonlyMap<number, string> = new Map([
  [MAINNET, 'mainnet'],
  [-3, 'testnet'],
  [SIMULATED, 'the simulated network'],
]);

/** Which network a global_id means, for people. */
export function networkName(globalId: number): string {
  return NAMES.get(globalId) ?? `network ${globalId}`;
}

/** The global_id of the network that the database holds; undefined before the first crawl. */
export async function readNetwork(session: Session): Promise<number | undefined> {
  return (await readSetting(session, 'network'))?.global_id;
}

/** What is wrong where the API serves another network than the database holds, and what to do. */
export function networkMismatch(
  held: number,
  served: number,
): { readonly what: string; readonly hint: string } {
  return {
    what: `the database holds ${networkName(held)}, the API serves ${networkName(served)}`,
    hint: 'Set DATABASE_URL (or ETL_DATA_DIR) to another database, or TONCENTER_NETWORK to the network it holds.',
  };
}

/**
 * One database holds one network: the first crawl decides which.
 * @throws WrongDatabaseError where it holds another one
 */
export async function claimNetwork(session: Session, globalId: number): Promise<void> {
  const { global_id: held } = await decideSetting(session, 'network', { global_id: globalId });
  if (held === globalId) return;
  throw new WrongDatabaseError(conflictOf(held, globalId), { hint: networkMismatch(held, globalId).hint });
}

/** A masterchain block: chains that share a global_id do not share it. */
export interface ChainBlock {
  readonly seqno: number;
  readonly rootHash: string;
}

/**
 * One database holds one chain: a network that was started anew under its old global_id has other blocks under the same
 * seqnos. The index may have dropped its first blocks since, so only blocks of one seqno are compared.
 * @param first the first masterchain block that the index has now
 * @param rootHashOf asks the API for the root hash of a masterchain block; undefined if it has none
 * @throws WrongDatabaseError if the database holds another chain
 */
export async function claimChain(
  session: Session,
  first: ChainBlock,
  rootHashOf: (seqno: number) => Promise<string | undefined>,
): Promise<void> {
  const held = await readSetting(session, 'network');
  if (held === undefined) return;
  const { block } = held;
  if (block !== undefined) {
    const now = block.seqno === first.seqno ? first.rootHash : await rootHashOf(block.seqno);
    if (now === block.root_hash && block.seqno === first.seqno) return;
    if (now !== undefined && now !== block.root_hash) throw otherChain(block.seqno);
  }
  const stored = await readRootHash(session, first.seqno);
  if (stored !== undefined && stored !== first.rootHash) throw otherChain(first.seqno);
  await keepSetting(session, 'network', {
    ...held,
    block: { seqno: first.seqno, root_hash: first.rootHash },
  });
}

async function readRootHash(session: Session, seqno: number): Promise<string | undefined> {
  const [row] = await session.rows(
    sql`select root_hash from ton.blocks
        where workchain = ${MASTERCHAIN} and shard = '8000000000000000' and seqno = ${seqno} limit 1`,
    z.object({ root_hash: z.string() }),
  );
  return row?.root_hash;
}

/** The error if masterchain blocks of one seqno differ. */
export function otherChain(seqno: number): WrongNetworkError {
  return new WrongNetworkError(
    `the database holds another chain: masterchain block ${seqno} of the API has another root hash`,
    {
      hint: 'The network was started anew under the same global_id. Set DATABASE_URL (or ETL_DATA_DIR) to another database, or drop this one.',
    },
  );
}

/** The error where the API began to answer for another network while it was read. */
export function networkChanged(held: number, served: number): WrongNetworkError {
  return new WrongNetworkError(conflictOf(held, served), {
    hint: 'Find out where the address of TONCENTER_NETWORK leads now. docs/operator/runbook.md says what to look at before you start again.',
  });
}

function conflictOf(held: number, served: number): string {
  return `${networkMismatch(held, served).what}: one database holds one network`;
}
