import { jsonb, primaryKey, text } from 'drizzle-orm/pg-core';
import { address, amount, count8, hash, int8, loadedAt, utime } from '../columns.ts';
import { describe } from '../describe.ts';
import { ton } from '../schemas.ts';

export const validator_events = ton.table(
  'validator_events',
  {
    utime: utime(),
    tx_lt: int8().notNull(),
    tx_hash: hash().notNull(),
    type: text().notNull(),
    stake_holder_address: address(),
    validator_pubkey: text(),
    adnl_addr: text(),
    election_id: count8(),
    query_id: amount(),
    amount: amount(),
    reason: count8(),
    extra: jsonb(),
    loaded_at: loadedAt(),
  },
  (t) => [primaryKey({ columns: [t.utime, t.tx_lt, t.tx_hash] })],
);

describe(validator_events, {
  comment:
    'What the elector contract did with the stakes of validators: took them, refused them, gave them back. One row an event. Read from GET /api/v3/validators/events, which some servers do not have; a row never changes. There is no checksum for them: each second is read twice.',
  from: 'events[].* of validators/events',
  columns: {
    utime: "Block time, UTC, of the elector's transaction.",
    tx_lt: "Logical time of the elector's transaction.",
    tx_hash: "Hash of the elector's transaction, base64: identity of the event.",
    type: 'What happened to the stake: stake_accepted, stake_rejected or stake_recovered.',
    stake_holder_address:
      'Account that sent or gets the stake, raw form: a wallet or a pool. From events[].stake_holder_address; null only if not sent.',
    validator_pubkey:
      "The validator's public key, 64 upper-case hex digits; null for a stake that is given back. From events[].validator_pubkey.",
    adnl_addr:
      "The validator's network address (ADNL), 64 upper-case hex digits; null if the event has none. From events[].adnl_addr.",
    election_id:
      'Election that the stake is for, named by the unix time at which its validators begin; null for a stake that is given back. From events[].election_id.',
    query_id:
      'Number that the sender chose to tell its requests apart, up to 64 bits; null if the event has none.',
    amount: 'The stake, nanotons.',
    reason: "Code of the elector's reason for refusing the stake; null for all other types.",
  },
  conflict: { kind: 'fill', columns: ['extra'] },
  partitioned: true,
});
