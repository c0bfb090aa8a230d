import { WrongDatabaseError, WrongNetworkError } from '../errors.ts';
import { sql } from 'drizzle-orm';
import * as z from 'zod';
import { MASTERCHAIN, MASTERCHAIN_SHARD } from '../ton/shard.ts';
import { decideSetting, keepSetting, readSetting } from './stored-settings.ts';
import type { Session } from '../postgres/database.ts';

export const MAINNET = -239;

/** The global_id of simulated networks, except the live one of `sync` with `TONCENTER_NETWORK=demo`. */
export const SIMULATED = -777;

const NAMES: ReadonlyMap<number, string> = new Map([
  [MAINNET, 'mainnet'],
  [-3, 'testnet'],
  [SIMULATED, 'the simulated network'],
  [-778, 'the live simulated network'],
]);

/** The name of the network with a global_id, for people. */
export function networkName(globalId: number): string {
  return NAMES.get(globalId) ?? `network ${globalId}`;
}

/** The global_id of the network that the database holds; undefined before the first crawl. */
export async function readNetwork(session: Session): Promise<number | undefined> {
  return (await readSetting(session, 'network'))?.global_id;
}

/** The error text and hint if the API does not serve the network that the database holds. */
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
 * @throws WrongDatabaseError if it holds another one
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
 * One database holds one chain: a network that was restarted under its old global_id has other blocks with the same
 * seqnos. The index may have dropped its first blocks since, so only blocks with one seqno are compared.
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
    if (now !== undefined && now !== block.root_hash)
      throw new WrongDatabaseError(otherChain(block.seqno), { hint: RESTARTED });
  }
  const mismatch = await chainMismatch(session, first);
  if (mismatch !== undefined) throw new WrongDatabaseError(mismatch.what, mismatch);
  await keepSetting(session, 'network', {
    ...held,
    block: { seqno: first.seqno, root_hash: first.rootHash },
  });
}

/** The error text and hint if the first block of the API's index has another root hash in the database. */
export async function chainMismatch(
  session: Session,
  { seqno, rootHash }: { readonly seqno: number; readonly rootHash?: string | undefined },
): Promise<ReturnType<typeof networkMismatch> | undefined> {
  if (rootHash === undefined) return undefined;
  const [stored] = await session.rows(
    sql`select root_hash from ton.blocks
        where workchain = ${MASTERCHAIN} and shard = ${MASTERCHAIN_SHARD} and seqno = ${seqno} limit 1`,
    z.object({ root_hash: z.string() }),
  );
  const remembered = (await readSetting(session, 'network'))?.block;
  const hashes = [stored?.root_hash, remembered?.seqno === seqno ? remembered.root_hash : undefined];
  const isOther = hashes.some((hash) => hash !== undefined && hash !== rootHash);
  return isOther ? { what: otherChain(seqno), hint: RESTARTED } : undefined;
}

function otherChain(seqno: number): string {
  return `the database holds another chain: masterchain block ${seqno} of the API has another root hash`;
}

const RESTARTED =
  'The network was restarted under the same global_id. Set DATABASE_URL (or ETL_DATA_DIR) to another database, or drop this one.';

/** The error if the API began to serve another chain during a crawl. */
export function chainChanged(seqno: number): WrongNetworkError {
  return new WrongNetworkError(otherChain(seqno), { hint: RESTARTED });
}

/** The error if the API began to serve another network during a crawl. */
export function networkChanged(held: number, served: number): WrongNetworkError {
  return new WrongNetworkError(conflictOf(held, served), {
    hint: 'Check which server the address of TONCENTER_NETWORK resolves to. docs/operator/runbook.md says what to check before a restart.',
  });
}

function conflictOf(held: number, served: number): string {
  return `${networkMismatch(held, served).what}: one database holds one network`;
}
