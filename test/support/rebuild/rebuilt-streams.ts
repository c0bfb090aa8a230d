import type { PgTable } from 'drizzle-orm/pg-core';
import jettonBurns from '../../../jobs/jetton_burns.ts';
import jettonTransfers from '../../../jobs/jetton_transfers.ts';
import nftTransfers from '../../../jobs/nft_transfers.ts';
import nominatorEvents from '../../../jobs/nominator_events.ts';
import nominatorPoolEvents from '../../../jobs/nominator_pool_events.ts';
import validatorCycles from '../../../jobs/validator_cycles.ts';
import validatorElections from '../../../jobs/validator_elections.ts';
import validatorComplaints from '../../../jobs/validator_complaints.ts';
import validatorEvents from '../../../jobs/validator_events.ts';
import { jetton_burns, jetton_transfers, nft_transfers } from '../../../src/tables/ton/jettons-and-nfts.ts';
import {
  nominator_events,
  nominator_pool_events,
  complaint_votes,
  validator_complaints,
  cycle_validators,
  validator_cycles,
  election_participants,
  validator_elections,
  validator_events,
} from '../../../src/tables/ton/validators-and-pools.ts';
import type { Job } from '../../../src/dataset/job.ts';
import type { Position } from '../../../src/dataset/paginators/paginator.ts';
import {
  rebuildComplaint,
  rebuildCycle,
  rebuildElection,
  rebuildJettonBurn,
  rebuildJettonTransfer,
  rebuildNftTransfer,
  rebuildNominatorEvent,
  rebuildPoolEvent,
  rebuildValidatorEvent,
} from './rebuild-streams.ts';
import {
  sampleComplaint,
  sampleCycle,
  sampleElection,
  sampleJettonBurn,
  sampleJettonTransfer,
  sampleNftTransfer,
  sampleNominatorEvent,
  samplePoolEvent,
  sampleValidatorEvent,
} from '../samples/sample-streams.ts';
import type { TextRow } from './text-row.ts';

type Json = Record<string, unknown>;

/** A dataset whose records are one row each, perhaps with parts in a second table, and how to rebuild them. */
export interface RebuiltStream {
  readonly name: string;
  readonly endpoint: string;
  readonly job: Job;
  /** Its own table first, then that of its parts. */
  readonly tables: Readonly<Record<string, PgTable>>;
  readonly sample: (changes?: Json) => Json;
  readonly rebuild: (row: TextRow, parts: readonly TextRow[]) => Json;
  /** A record without one of these members is refused. */
  readonly required: readonly string[];
  /** A member that is an amount. */
  readonly amount: string;
  /** The members that give a record its position, and that position. */
  readonly positionMembers: Json;
  readonly position: Position;
}

const transfer = {
  required: ['transaction_hash', 'transaction_lt', 'transaction_now'],
  positionMembers: { transaction_hash: 'h', transaction_lt: '7', transaction_now: 1_760_000_009 },
  position: { utime: 1_760_000_009, lt: '7', id: 'h' },
};

const event = {
  required: ['tx_hash', 'tx_lt', 'utime', 'type'],
  positionMembers: { tx_hash: 'h', tx_lt: '7', utime: 1_760_000_009 },
  position: { utime: 1_760_000_009, lt: '7', id: 'h' },
};

export const rebuiltStreams: readonly RebuiltStream[] = [
  {
    name: 'jetton_transfers',
    endpoint: 'jetton/transfers',
    job: jettonTransfers,
    tables: { jetton_transfers },
    amount: 'amount',
    sample: sampleJettonTransfer,
    rebuild: rebuildJettonTransfer,
    ...transfer,
  },
  {
    name: 'jetton_burns',
    endpoint: 'jetton/burns',
    job: jettonBurns,
    tables: { jetton_burns },
    amount: 'amount',
    sample: sampleJettonBurn,
    rebuild: rebuildJettonBurn,
    ...transfer,
  },
  {
    name: 'nft_transfers',
    endpoint: 'nft/transfers',
    job: nftTransfers,
    tables: { nft_transfers },
    amount: 'forward_amount',
    sample: sampleNftTransfer,
    rebuild: rebuildNftTransfer,
    ...transfer,
  },
  {
    name: 'validator_events',
    endpoint: 'validators/events',
    job: validatorEvents,
    tables: { validator_events },
    amount: 'amount',
    sample: sampleValidatorEvent,
    rebuild: rebuildValidatorEvent,
    ...event,
  },
  {
    name: 'nominator_pool_events',
    endpoint: 'staking/nominatorPools/validatorEvents',
    job: nominatorPoolEvents,
    tables: { nominator_pool_events },
    amount: 'amount',
    sample: samplePoolEvent,
    rebuild: rebuildPoolEvent,
    ...event,
    required: [...event.required, 'pool_address'],
  },
  {
    name: 'nominator_events',
    endpoint: 'staking/nominatorPools/nominatorEvents',
    job: nominatorEvents,
    tables: { nominator_events },
    amount: 'amount',
    sample: sampleNominatorEvent,
    rebuild: rebuildNominatorEvent,
    required: [...event.required, 'pool_address', 'nominator_address'],
    positionMembers: { ...event.positionMembers, nominator_address: 'n', type: 't' },
    position: { ...event.position, id: 'h/n/t' },
  },
  {
    name: 'validator_complaints',
    endpoint: 'validators/complaints',
    job: validatorComplaints,
    tables: { validator_complaints, complaint_votes },
    amount: 'paid',
    sample: sampleComplaint,
    rebuild: rebuildComplaint,
    required: ['election_id', 'complaint_hash', 'created_at'],
    positionMembers: { election_id: 5, complaint_hash: 'h', created_at: 1_760_000_009 },
    position: { utime: 1_760_000_009, lt: '0', id: '5/h' },
  },
  {
    name: 'validator_elections',
    endpoint: 'validators/elections',
    job: validatorElections,
    tables: { validator_elections, election_participants },
    amount: 'total_stake',
    sample: sampleElection,
    rebuild: rebuildElection,
    required: ['election_id'],
    positionMembers: { election_id: 1_760_000_009 },
    position: { utime: 1_760_000_009, lt: '0', id: '1760000009' },
  },
  {
    name: 'validator_cycles',
    endpoint: 'validators/cycles',
    job: validatorCycles,
    tables: { validator_cycles, cycle_validators },
    amount: 'total_stake',
    sample: (changes) => sampleCycle(changes),
    rebuild: rebuildCycle,
    required: ['cycle_start'],
    positionMembers: { cycle_start: 1_760_000_009 },
    position: { utime: 1_760_000_009, lt: '0', id: '1760000009' },
  },
];
