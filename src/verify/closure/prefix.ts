import { sql, type SQL } from 'drizzle-orm';

/** The bits of a shard's prefix, as text: one shard lies in another where its prefix begins with the other's. */
export const prefix = (shard: SQL) =>
  sql`left(rtrim(('x' || lpad(${shard}, 16, '0'))::bit(64)::text, '0'), -1)`;
