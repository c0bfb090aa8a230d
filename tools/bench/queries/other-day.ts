import { literal } from '../../../src/tables/describe.ts';

/** So many days have accounts of their own; then the same accounts come again. */
const WORLDS = 10;

/** Lts of one day are below the first, numbers of blocks below the second. */
const LT_STEP = '100000000000';
const SEQNO_STEP = 1_000_000;

const ADDRESSES = new Set([
  ...[
    'account',
    'source',
    'destination',
    'asset',
    'source_wallet',
    'jetton_master',
    'owner',
    'jetton_wallet',
  ],
  ...['nft_address', 'nft_collection', 'old_owner', 'new_owner'],
]);
const HASHES = new Set([
  ...['hash', 'trace_id', 'prev_trans_hash', 'in_msg_hash', 'out_msg_tx_hash', 'tx_hash', 'parent_tx_hash'],
  ...['transaction_hash', 'action_id', 'external_hash', 'root_hash', 'file_hash'],
]);
/** Numbers of blocks; other columns have similar names. */
const SEQNO = /^(?!vert_|gen_catchain_).*seqno(_start|_end)?$/;

interface Column {
  readonly name: string;
  readonly type: string;
}

/** SQL that differs between databases. */
export interface Dialect {
  /** SHA-256 of a text, as hex digits of either case. */
  readonly hex: (text: string) => string;
  /** The same in base64. */
  readonly base64: (text: string) => string;
  readonly later: (column: string, days: number) => string;
}

/**
 * An expression for a column of the first day so many days later: with other hashes, and on most days other
 * accounts.
 */
export function valueOn({ name, type }: Column, day: number, { hex, base64, later }: Dialect): string {
  const column = `"${name}"`;
  if (name === 'loaded_at') return column;
  if (type === 'timestamp with time zone') return later(column, day);
  if (name === 'lt' || name.endsWith('_lt')) return `${column} + ${day} * ${LT_STEP}`;
  if (SEQNO.test(name)) return `${column} + ${day * SEQNO_STEP}`;
  if (HASHES.has(name)) return base64(`${column} || ${literal(`/${day}`)}`);
  if (ADDRESSES.has(name) && day % WORLDS !== 0)
    return `case when ${column} like '0:%' then '0:' || upper(${hex(`${column} || ${literal(`/${day % WORLDS}`)}`)}) else ${column} end`;
  return column;
}
