import { CROSS_CHECKED } from '../dataset/grade.ts';
import { window } from '../dataset/paginators/window.ts';

/*
 * What the streams about validators and nominator pools have in common. They are served from a copy of the database that
 * lags by minutes, and the chain has no checksum for them: a reading of another replica has to agree.
 */
const copied = { params: { x_no_address_book: true }, delaySeconds: 900, grade: CROSS_CHECKED } as const;

/** Events: each lies in a transaction, and never changes. */
export const stakingEvents = {
  ...copied,
  list: 'events',
  everySeconds: 300,
  maturitySeconds: 3600,
  checks: { 'cross-checks': { transaction: 'tx_hash' }, 'second-reading': true },
} as const;

/** Events in nominator pools, which are read pool by pool. The pools themselves stake: so they are met. */
export const poolEvents = {
  ...stakingEvents,
  paginator: window(),
  scopes: {
    param: 'pool',
    column: 'pool_address',
    from: 'pools',
    seenIn: { dataset: 'validator_events', member: 'stake_holder_address' },
  },
} as const;

/**
 * What the elector knows of elections. It forgets an election after its round of 65536 s and 32768 s more, in which
 * validators still vote on complaints and stakes are given back. Nothing changes after that.
 */
export const electorRecords = {
  ...copied,
  replacesRows: true,
  maturitySeconds: 100_000,
  checks: { 'second-reading': true },
} as const;
