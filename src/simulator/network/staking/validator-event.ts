import { mix32 } from '../../random.ts';
import { VALIDATORS, type Elections } from './elections.ts';

/** Something that the elector did with a stake, as v3 prints it: what does not apply is left out. */
export interface ValidatorEventJson {
  readonly tx_hash: string;
  readonly tx_lt: string;
  readonly utime: number;
  readonly type: 'stake_accepted' | 'stake_rejected' | 'stake_recovered';
  readonly stake_holder_address: string;
  readonly validator_pubkey?: string;
  readonly adnl_addr?: string;
  readonly election_id?: number;
  readonly query_id?: string;
  readonly amount: string;
  readonly reason?: number;
}

/** The event of one of the elector's transactions. */
export function validatorEventJson(elections: Elections, row: number): ValidatorEventJson {
  const { world } = elections;
  const utime = world.utimeOf(row);
  const cycle = elections.cycleAt(utime);
  const validator = elections.validator(cycle + 1, mix32(row) % VALIDATORS);
  const common = {
    tx_hash: world.hashes('transaction').text(row),
    tx_lt: String(world.transactions.lt.get(row)),
    utime,
    stake_holder_address: validator.stakeHolder,
    amount: String(validator.stake + BigInt(mix32(row + 1))),
  };
  const query = { query_id: String(mix32(row + 2)) };
  if (!elections.isOpen(utime))
    return { ...common, type: 'stake_recovered', ...(mix32(row) % 3 === 0 ? {} : query) };
  const about = {
    validator_pubkey: validator.pubkey,
    adnl_addr: validator.adnl,
    election_id: elections.idOf(cycle + 1),
    ...query,
  };
  const rejected = mix32(row + 3) % 8 === 0;
  return rejected
    ? { ...common, type: 'stake_rejected', ...about, reason: 1 + (mix32(row + 4) % 6) }
    : { ...common, type: 'stake_accepted', ...about };
}
