import { sql, type SQL } from 'drizzle-orm';
import * as z from 'zod';
import { leaveReceipt } from '../receipts.ts';
import type { Target } from './target.ts';
import { Seconds, verifiedSeconds } from './unverify.ts';

/** What a statement has written to a stream table: how many rows, and seconds that have to be unverified. */
export const Written = Seconds.extend({ rows: z.coerce.number() });

/**
 * A statement that leaves the receipt of rows, and tells of them what `Written` says. `rows` is a query of the columns that a
 * receipt needs; `is_new` tells which rows were added.
 */
export function withReceipt(target: Target, rows: SQL): SQL {
  return sql`
    with written as (${rows}), receipt as (${leaveReceipt(target, sql`written`, 'written')})
    select count(*) as rows, (${verifiedSeconds(sql`written`)}) as seconds from written`;
}
