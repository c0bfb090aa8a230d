/** An index that might be added: `USING …`, or null for the table without it. */
export interface Candidate {
  readonly table: 'transactions' | 'messages' | 'actions';
  readonly using: string | null;
}

export const CANDIDATES: readonly Candidate[] = [
  { table: 'messages', using: null },
  { table: 'messages', using: 'btree (destination, utime)' },
  { table: 'messages', using: 'btree (source, utime)' },
  { table: 'messages', using: 'btree (destination)' },
  { table: 'messages', using: 'hash (destination)' },
  { table: 'messages', using: 'brin (destination)' },
  { table: 'messages', using: 'brin (destination text_bloom_ops)' },
  { table: 'transactions', using: null },
  { table: 'transactions', using: 'btree (trace_id)' },
  { table: 'transactions', using: 'hash (trace_id)' },
  { table: 'transactions', using: 'brin (trace_id text_bloom_ops)' },
  { table: 'actions', using: null },
];
