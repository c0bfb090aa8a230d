import { sql } from 'drizzle-orm';
import * as z from 'zod';
import type { Session } from '../postgres/database.ts';

const Scope = z.object({ scope: z.string() });

/** Addresses that may be nominator pools of a dataset, in raw form, as `etl.scopes` lists them. */
export async function readPools(session: Session, dataset: string): Promise<string[]> {
  const rows = await session.rows(
    sql`select scope from etl.scopes where dataset = ${dataset} order by 1`,
    Scope,
  );
  return rows.map(({ scope }) => scope);
}
