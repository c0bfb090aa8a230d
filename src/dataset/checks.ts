/**
 * What the rows of a dataset are held against, by the names of the checks in `src/verify/checks/`. Every dataset is
 * also held against its seal and its quarantine. A dataset without any check here is never verified.
 */
export interface Checks {
  /** The links between blocks close the range. */
  readonly blocks?: true;
  /** Each block lies in the second of its transactions, and not before its parents. */
  readonly 'block-seconds'?: true;
  /** Each block counts its transactions. */
  readonly transactions?: true;
  /** Each transaction counts its messages, and its balance agrees with their values. */
  readonly messages?: true;
  /** Each transaction continues the state of its account. */
  readonly 'state-chain'?: true;
  /** Each trace counts its transactions, and each finished chain of messages is a trace. */
  readonly traces?: true;
  /** Each row lies in a stored transaction. */
  readonly 'cross-checks'?: CrossCheck;
  /** Each action is part of a stored trace, and so are the transactions that it names. */
  readonly actions?: true;
  /** Two readings at different times agree. */
  readonly 'second-reading'?: true;
}

/** How rows hang on transactions. The dataset's first table holds them. */
export interface CrossCheck {
  /** Column with the hash of the transaction that each row is about. */
  readonly transaction: string;
  /** What makes such a row: messages with this opcode, to accounts that the column names elsewhere in the range. */
  readonly made?: { readonly opcode: string; readonly account: string };
}
