import { sql } from 'drizzle-orm';
import { z } from 'zod';
import type { Session } from '../connection/database.ts';

const Genesis = z.object({ genesis: z.coerce.number() });

/** Unix seconds of the first block of the live demo network that this database follows; undefined where it follows none. */
export async function readDemoGenesis(session: Session): Promise<number | undefined> {
  const [row] = await session.rows(
    sql`select value->>'genesis' as genesis from etl.settings where name = 'demo'`,
    Genesis,
  );
  return row?.genesis;
}

/** Decides it, once: what an earlier start has stored stays. */
export async function keepDemoGenesis(session: Session, genesis: number): Promise<number> {
  await session.run(sql`
    insert into etl.settings (name, value) values ('demo', jsonb_build_object('genesis', ${genesis}::int8))
    on conflict (name) do nothing`);
  return (await readDemoGenesis(session)) ?? genesis;
}
