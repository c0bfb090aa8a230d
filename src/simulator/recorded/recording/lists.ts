/** How the records of an endpoint's list are distinguished and put in order. */
export interface ListFacts {
  /** The member of the response that holds the records. */
  readonly member: string;
  /** The record's member by which the endpoint's windows of time go. */
  readonly time: string;
  /** The one that windows of logical time go by; undefined if there are none. */
  readonly lt?: string;
  /** Members that together name a record. */
  readonly key: readonly string[];
  /** True if a page says by itself how far it is joined, so that a window may end beyond what was recorded. */
  readonly joined?: true;
}

/** Endpoints of which any window can be answered from recorded ones; all others answer the very request again. */
export const LISTS: Readonly<Record<string, ListFacts>> = {
  '/api/v3/blocks': {
    member: 'blocks',
    time: 'gen_utime',
    lt: 'start_lt',
    key: ['workchain', 'shard', 'seqno'],
    joined: true,
  },
  '/api/v3/transactions': { member: 'transactions', time: 'now', lt: 'lt', key: ['hash'] },
  '/api/v3/traces': { member: 'traces', time: 'end_utime', lt: 'end_lt', key: ['trace_id'] },
  '/api/v3/actions': {
    member: 'actions',
    time: 'trace_end_utime',
    lt: 'trace_end_lt',
    key: ['trace_id', 'action_id'],
  },
  '/api/v3/jetton/transfers': {
    member: 'jetton_transfers',
    time: 'transaction_now',
    lt: 'transaction_lt',
    key: ['transaction_hash'],
  },
  '/api/v3/jetton/burns': {
    member: 'jetton_burns',
    time: 'transaction_now',
    lt: 'transaction_lt',
    key: ['transaction_hash'],
  },
  '/api/v3/nft/transfers': {
    member: 'nft_transfers',
    time: 'transaction_now',
    lt: 'transaction_lt',
    key: ['transaction_hash'],
  },
  '/api/v3/validators/events': { member: 'events', time: 'utime', lt: 'tx_lt', key: ['tx_hash'] },
  '/api/v3/validators/complaints': { member: 'complaints', time: 'created_at', key: ['complaint_hash'] },
  '/api/v3/staking/nominatorPools/validatorEvents': {
    member: 'events',
    time: 'utime',
    lt: 'tx_lt',
    key: ['tx_hash'],
  },
  '/api/v3/staking/nominatorPools/nominatorEvents': {
    member: 'events',
    time: 'utime',
    lt: 'tx_lt',
    key: ['tx_hash', 'nominator_address', 'type'],
  },
};

/** Parameters that choose a part of a list. All others choose another list. */
export const PAGING = ['start_utime', 'end_utime', 'start_lt', 'end_lt', 'limit', 'offset', 'sort'];
