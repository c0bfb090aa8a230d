import { mix32 } from '../../random.ts';
import { NONE } from './tables/block-table.ts';
import type { World } from './world.ts';

/** The wallet to which a `jetton_transfer` message sends jettons: the trace's party that does not own the sending jetton wallet. */
export function jettonDestination(world: World, message: number): number {
  const { messages, traces, accounts } = world;
  const trace = messages.trace.get(message);
  const owner = accounts.jettonWalletOwner(messages.destination.get(message));
  const actor = traces.actor.get(trace);
  return owner === actor ? traces.partner.get(trace) : actor;
}

/** The owner whose jettons come back with a bounced message; undefined if it brings none back. */
export function refusedBy({ messages, accounts }: World, message: number): number | undefined {
  const isJettons = [messages.source, messages.destination].every(
    (ends) => accounts.role(ends.get(message)) === 'jetton_wallet',
  );
  return isJettons ? accounts.jettonWalletOwner(messages.destination.get(message)) : undefined;
}

/** True if the jettons that a transaction sent, of a transfer or a mint, were taken where they arrived. */
export function wasTaken(world: World, row: number): boolean {
  const { transactions, messages } = world;
  const first = transactions.firstOut.get(row);
  for (let message = first; message < first + transactions.outCount.get(row); message++) {
    const receiver = messages.inTransaction.get(message);
    if (messages.opOf(message) === 'jetton_internal_transfer' && receiver !== NONE)
      return transactions.kindOf(receiver) === 'ok';
  }
  return true;
}

/** The other of the two parties of a trace. */
export function otherParty({ traces }: World, trace: number, party: number): number {
  const actor = traces.actor.get(trace);
  return party === actor ? traces.partner.get(trace) : actor;
}

const DEXES = ['dedust', 'stonfi', 'stonfi_v2', 'tonco'] as const;

export type Dex = (typeof DEXES)[number];

/** The exchange on which the swap of a trace takes place. */
export function dexOf(trace: number): Dex {
  return DEXES[mix32(trace + 1) % DEXES.length] ?? 'dedust';
}

/** What an exchange holds of each jetton as it counts, in the least units: far more than one swap takes. */
const RESERVE = 1_000_000_000_000n;

/** What a party of a trace sends of its jettons, in their least units. An exchange gives another amount than it gets. */
export function sentAmount({ traces }: World, trace: number, sender: number): number {
  const amount = traces.amount.get(trace);
  const exchanges = traces.purposeOf(trace) === 'jetton_swap' && sender !== traces.actor.get(trace);
  return exchanges ? priced(amount, sender) : amount;
}

/** What `exchange` gives for an amount: the product of its reserves stays as it is, and 0.3 % are its own. */
export function priced(amount: number, exchange: number): number {
  const given = BigInt(amount) * 997n;
  const other = (RESERVE * BigInt(200 + (mix32(exchange) % 700))) / 1000n;
  const got = (given * other) / (RESERVE * 1000n + given);
  return Math.max(1, Number(got));
}
