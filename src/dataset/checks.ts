/**
 * The checks of a dataset's rows, by the names of the files in `src/verify/checks/`. Every dataset is also
 * compared with its seal and its quarantine. A dataset without any check here is never verified.
 */
export interface Checks {
  /** The links between blocks close the range. */
  readonly blocks?: true;
  /** Each block is in the second of its transactions, and not before its parents. */
  readonly 'block-seconds'?: true;
  /** The number of transactions in each block is right. */
  readonly transactions?: true;
  /** The number of messages of each transaction is right, and its balance agrees with their values. */
  readonly messages?: true;
  /** Each transaction continues the state of its account. */
  readonly 'state-chain'?: true;
  /** The number of transactions in each trace is right, and each finished chain of messages is a trace. */
  readonly traces?: true;
  /** Each row belongs to a stored transaction. */
  readonly 'cross-checks'?: CrossCheck;
  /** Each action is part of a stored trace, and so are the transactions that it names. */
  readonly actions?: true;
  /** Two readings at different times agree. */
  readonly 'second-reading'?: true;
}

/** How rows refer to transactions. The dataset's first table holds the rows. */
export interface CrossCheck {
  /** The column with the hash of the transaction that a row is about. */
  readonly transaction: string;
  /**
   * The messages that create such rows: those with this opcode to an account that the column names elsewhere
   * in the range.
   */
  readonly made?: { readonly opcode: string; readonly account: string };
}

/** The grades of a verified range, lowest first. A grade implies the lower ones. */
export const GRADES = ['covered', 'cross-checked', 'proved'] as const;

type Grade = (typeof GRADES)[number];

export interface GradeFacts {
  readonly grade: Grade;
  readonly proves: string;
  /** What only reading again (`verify --deep`) can show. */
  readonly limitations: string;
}

/** The grade of a dataset that declares no check. */
export const UNCHECKED: GradeFacts = {
  grade: 'covered',
  proves: 'nothing: the dataset declares no check',
  limitations: 'rows and values that the source left out or changed',
};

/** The grade of datasets for which the chain has no checksum. */
export const CROSS_CHECKED: GradeFacts = {
  grade: 'cross-checked',
  proves:
    'two readings apart in time agree in every value, and rows belong to stored transactions, if those are proved',
  limitations: 'rows that the source left out both times, and values that it changed both times',
};
