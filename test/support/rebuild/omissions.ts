/** A member of the API that the database deliberately does not store. */
export interface Omission {
  /** Path of the endpoint below its version. */
  readonly endpoint: string;
  /** Path of the member: within a record, or next to the list of records. `[]` stands for each element of an array. */
  readonly member: string;
  /** Why no information is lost, or why the lost information is not wanted. */
  readonly reason: string;
}

const NAMES =
  'names of accounts change: they are data of their own, and are switched off here to save half the body';
const BY_RECEIVER =
  'says which transaction received the message: transactions.in_msg_hash and in_msg_utime say it';
const BY_SENDER = 'says which transaction sent the message: it is stored as messages.out_msg_tx_hash';
const BY_HASH =
  'the whole transactions of an action: they are rows of transactions, found by action_transactions.tx_hash; servers fill only some';
const ECHO =
  'repeats the request: it is held against what was asked for, and the request is kept in etl.pages';

const CURSOR = 'says where the next page begins: of a bidder the first 1000 auctions are read';
const ITEM = 'comes only if it is asked for: nft_items has the item';
const OWN_ORDERS = 'are rows of multisig_orders, which are looked up with what they do';
const TAKEN = 'goes, entry by entry, into address_book or token_metadata, which look-ups spare';
const TAG = 'names the type that the place of the member says already; of states and texts it is a column';
const SESSION = 'names the session of the server, which is over';
const SAME = 'is account in its friendly form';
const MASTER = 'workchain and shard of a masterchain block are always -1 and 8000000000000000';

/**
 * Everything documented that is neither a column, nor derived from one, nor kept in `extra`. With these
 * exceptions, the API's JSON can be rebuilt from the tables; a missing member counts as one that is null.
 */
export const omissions: readonly Omission[] = [
  { endpoint: 'transactions', member: 'address_book', reason: NAMES },
  { endpoint: 'transactions', member: 'in_msg.in_msg_tx_hash', reason: BY_RECEIVER },
  { endpoint: 'transactions', member: 'in_msg.out_msg_tx_hash', reason: BY_SENDER },
  { endpoint: 'transactions', member: 'out_msgs[].in_msg_tx_hash', reason: BY_RECEIVER },
  { endpoint: 'transactions', member: 'out_msgs[].out_msg_tx_hash', reason: BY_SENDER },
  { endpoint: 'traces', member: 'address_book', reason: NAMES },
  { endpoint: 'traces', member: 'metadata', reason: NAMES },
  { endpoint: 'actions', member: 'address_book', reason: NAMES },
  { endpoint: 'actions', member: 'metadata', reason: NAMES },
  { endpoint: 'actions', member: 'transactions_full', reason: BY_HASH },
  { endpoint: 'jetton/transfers', member: 'address_book', reason: NAMES },
  { endpoint: 'jetton/transfers', member: 'metadata', reason: NAMES },
  { endpoint: 'jetton/burns', member: 'address_book', reason: NAMES },
  { endpoint: 'jetton/burns', member: 'metadata', reason: NAMES },
  { endpoint: 'nft/transfers', member: 'address_book', reason: NAMES },
  { endpoint: 'nft/transfers', member: 'metadata', reason: NAMES },
  { endpoint: 'validators/events', member: 'address_book', reason: NAMES },
  { endpoint: 'validators/events', member: 'start_utime', reason: ECHO },
  { endpoint: 'validators/events', member: 'end_utime', reason: ECHO },
  { endpoint: 'validators/complaints', member: 'address_book', reason: NAMES },
  { endpoint: 'staking/nominatorPools/validatorEvents', member: 'address_book', reason: NAMES },
  { endpoint: 'staking/nominatorPools/validatorEvents', member: 'start_utime', reason: ECHO },
  { endpoint: 'staking/nominatorPools/validatorEvents', member: 'end_utime', reason: ECHO },
  { endpoint: 'staking/nominatorPools/nominatorEvents', member: 'address_book', reason: NAMES },
  { endpoint: 'staking/nominatorPools/nominatorEvents', member: 'start_utime', reason: ECHO },
  { endpoint: 'staking/nominatorPools/nominatorEvents', member: 'end_utime', reason: ECHO },
  { endpoint: 'staking/nominatorPools/pool', member: 'address_book', reason: NAMES },
  { endpoint: 'dns/activeAuctions', member: 'address_book', reason: TAKEN },
  { endpoint: 'dns/activeAuctions', member: 'metadata', reason: TAKEN },
  { endpoint: 'dns/activeAuctions', member: 'next_cursor', reason: CURSOR },
  { endpoint: 'dns/activeAuctions', member: 'nft_item', reason: ITEM },
  { endpoint: 'multisig/wallets', member: 'orders', reason: OWN_ORDERS },
  { endpoint: 'multisig/wallets', member: 'address_book', reason: TAKEN },
  { endpoint: 'multisig/orders', member: 'address_book', reason: TAKEN },
  { endpoint: 'vesting', member: 'address_book', reason: TAKEN },
  { endpoint: 'dns/records', member: 'address_book', reason: TAKEN },
  { endpoint: 'jetton/masters', member: 'address_book', reason: TAKEN },
  { endpoint: 'jetton/masters', member: 'metadata', reason: TAKEN },
  { endpoint: 'jetton/wallets', member: 'address_book', reason: TAKEN },
  { endpoint: 'jetton/wallets', member: 'metadata', reason: TAKEN },
  { endpoint: 'nft/collections', member: 'address_book', reason: TAKEN },
  { endpoint: 'nft/collections', member: 'metadata', reason: TAKEN },
  { endpoint: 'nft/items', member: 'address_book', reason: TAKEN },
  { endpoint: 'nft/items', member: 'metadata', reason: TAKEN },
  { endpoint: 'nft/sales', member: 'address_book', reason: TAKEN },
  { endpoint: 'nft/sales', member: 'metadata', reason: TAKEN },
  { endpoint: 'accountStates', member: 'address_book', reason: TAKEN },
  { endpoint: 'accountStates', member: 'metadata', reason: TAKEN },
  { endpoint: 'v2', member: '@type', reason: TAG },
  { endpoint: 'v2', member: '@extra', reason: SESSION },
  { endpoint: 'v2/getTransactions', member: 'address', reason: SAME },
  { endpoint: 'v2/getShardBlockProof', member: 'from.workchain', reason: MASTER },
  { endpoint: 'v2/getShardBlockProof', member: 'mc_id.workchain', reason: MASTER },
  { endpoint: 'v2/getMasterchainInfo', member: 'last.workchain', reason: MASTER },
  { endpoint: 'v2/getExtendedAddressInformation', member: 'block_id.workchain', reason: MASTER },
];
