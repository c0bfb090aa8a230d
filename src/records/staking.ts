import { CROSS_CHECKED } from '../dataset/job.ts';
import { window } from '../dataset/paginators/forward.ts';

/*
 * Settings that the streams about validators and nominator pools share. The server answers them from a copy of the
 * database that lags by minutes. The chain has no checksum for them, so a reading from another replica has to agree.
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

/** Events in nominator pools, which are read pool by pool. A pool is found by its own stakes with the elector. */
export const poolEvents = {
  ...stakingEvents,
  paginator: window(),
  scopes: {
    param: 'pool',
    column: 'pool_address',
    seenIn: { dataset: 'validator_events', column: 'stake_holder_address' },
  },
} as const;

/**
 * Records of the elector about elections. It deletes an election after its round of 65536 s and 32768 s more. Until then
 * validators vote on complaints, and the elector returns stakes. Nothing changes after that.
 */
export const electorRecords = {
  ...copied,
  replacesRows: true,
  maturitySeconds: 100_000,
  checks: { 'second-reading': true },
} as const;
