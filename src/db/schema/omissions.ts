/** A member of the API that the database deliberately does not hold. */
export interface Omission {
  /** Path of the endpoint below its version. */
  readonly endpoint: string;
  /** Path of the member: within a record, or beside the list of records. `[]` stands for each element of an array. */
  readonly member: string;
  /** Why nothing is lost, or why what is lost is not wanted. */
  readonly reason: string;
}

const NAMES =
  'names of accounts change: they are data of their own, and are switched off here to save half the body';
const BY_RECEIVER =
  'says which transaction received the message: transactions.in_msg_hash and in_msg_utime say it';
const BY_SENDER = 'says which transaction sent the message: it is stored as messages.out_msg_tx_hash';

/**
 * Everything documented that is neither a column, nor derived from one, nor kept in `extra`. With these exceptions, and
 * except that a member left out means the same as one that is null, the API's JSON can be rebuilt from the tables.
 */
export const omissions: readonly Omission[] = [
  { endpoint: 'transactions', member: 'address_book', reason: NAMES },
  { endpoint: 'transactions', member: 'in_msg.in_msg_tx_hash', reason: BY_RECEIVER },
  { endpoint: 'transactions', member: 'in_msg.out_msg_tx_hash', reason: BY_SENDER },
  { endpoint: 'transactions', member: 'out_msgs[].in_msg_tx_hash', reason: BY_RECEIVER },
  { endpoint: 'transactions', member: 'out_msgs[].out_msg_tx_hash', reason: BY_SENDER },
];
