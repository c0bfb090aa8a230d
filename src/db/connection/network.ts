import { WrongDatabaseError, WrongNetworkError } from '../../errors.ts';
import { decideSetting, readSetting } from '../settings.ts';
import type { Session } from './database.ts';

/** The global_id of mainnet. */
export const MAINNET = -239;

const NAMES: ReadonlyMap<number, string> = new Map([
  [MAINNET, 'mainnet'],
  [-3, 'testnet'],
  [-777, 'the simulated network'],
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

/** The error where the API began to answer for another network while it was read. */
export function networkChanged(held: number, served: number): WrongNetworkError {
  return new WrongNetworkError(conflictOf(held, served), {
    hint: 'Find out where the address of TONCENTER_NETWORK leads now. docs/operator.md says what to look at before you start again.',
  });
}

function conflictOf(held: number, served: number): string {
  return `${networkMismatch(held, served).what}: one database holds one network`;
}
