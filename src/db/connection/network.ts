import { sql } from 'drizzle-orm';
import { z } from 'zod';
import { WrongDatabaseError } from '../../errors.ts';
import type { Session } from './database.ts';

const NAMES: ReadonlyMap<number, string> = new Map([
  [-239, 'mainnet'],
  [-3, 'testnet'],
  [-777, 'the simulated network'],
]);

const Row = z.object({ id: z.coerce.number() });

/** Which network a global_id means, for people. */
export function networkName(globalId: number): string {
  return NAMES.get(globalId) ?? `network ${globalId}`;
}

/** The global_id of the network that the database holds; undefined before the first crawl. */
export async function readNetwork(session: Session): Promise<number | undefined> {
  const [row] = await session.rows(
    sql`select value->>'global_id' as id from etl.settings where name = 'network'`,
    Row,
  );
  return row?.id;
}

/**
 * One database holds one network: the first crawl decides which.
 * @throws WrongDatabaseError where it holds another one
 */
export async function claimNetwork(session: Session, globalId: number): Promise<void> {
  await session.run(sql`
    insert into etl.settings (name, value) values ('network', jsonb_build_object('global_id', ${globalId}::int8))
    on conflict (name) do nothing`);
  const held = await readNetwork(session);
  if (held === globalId) return;
  throw new WrongDatabaseError(
    `the database holds ${networkName(held ?? 0)}, the API serves ${networkName(globalId)}: one database holds one network`,
    {
      hint: 'Set DATABASE_URL (or ETL_DATA_DIR) to another database, or TONCENTER_NETWORK to the network it holds.',
    },
  );
}
