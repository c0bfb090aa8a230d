import { sql, type SQL } from 'drizzle-orm';

/**
 * The key of a block in a statement, in the form of `blockKey`: from the columns workchain, shard and seqno of an
 * alias.
 */
export function blockKeyOf(alias: string): SQL {
  const of = (column: string) => sql`${sql.identifier(alias)}.${sql.identifier(column)}`;
  return sql`${of('workchain')} || ':' || ${of('shard')} || ':' || ${of('seqno')}`;
}
