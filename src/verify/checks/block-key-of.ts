import { sql, type SQL } from 'drizzle-orm';

/** The key of a block in a statement, as `blockKey` writes it, from the columns workchain, shard and seqno. */
export function blockKeyOf(alias: string): SQL {
  const of = (column: string) => sql`${sql.identifier(alias)}.${sql.identifier(column)}`;
  return sql`${of('workchain')} || ':' || ${of('shard')} || ':' || ${of('seqno')}`;
}
