import { SYSTEM_ADDRESS } from '../chain/tables/accounts.ts';
import { MESSAGE, SYSTEM } from '../chain/tables/message-table.ts';
import type { World } from '../chain/world.ts';
import { extraCurrencies } from '../../json/account-state-json.ts';
import { comment, textOf } from '../../json/comment.ts';
import { opcodeOf, opcodeText } from '../../json/message-json.ts';

/** The accounts at the ends of a message. */
export function ends(world: World, message: number): { source: string | null; destination: string | null } {
  const { messages, accounts } = world;
  const source = messages.source.get(message);
  return {
    source: source === SYSTEM ? SYSTEM_ADDRESS : source < 0 ? null : accounts.address(source),
    destination: accounts.address(messages.destination.get(message)),
  };
}

/** The details of a contract_deploy. */
export function deployment(world: World, message: number): object {
  const { messages } = world;
  return {
    opcode: opcodeText(opcodeOf(world, message)),
    ...ends(world, message),
    value: messages.isExternalIn(message) ? null : String(messages.value.get(message)),
  };
}

/** The details of a call_contract. */
export function call(world: World, message: number): object {
  return {
    ...deployment(world, message),
    extra_currencies: extraCurrencies(world.messages.extra.get(message)),
  };
}

/** The details of a ton_transfer. */
export function coins(world: World, message: number): object {
  const { messages } = world;
  const isEncrypted = messages.opOf(message) === 'encrypted_comment';
  return {
    ...ends(world, message),
    value: String(messages.value.get(message)),
    value_extra_currencies: extraCurrencies(messages.extra.get(message)),
    comment: isEncrypted ? comment(message) : (textOf(world, message) ?? null),
    encrypted: isEncrypted,
  };
}

/** Coins that stay where they arrived are transferred, even if no code ran there: only a frozen account fails. */
export function coinsArrived({ messages, transactions }: World, row: number): boolean {
  const kind = transactions.kindOf(row);
  const stays =
    !messages.has(transactions.inMessage.get(row), MESSAGE.bounce) &&
    kind === 'no_state' &&
    transactions.statusAfterOf(row) !== 'frozen';
  return kind === 'ok' || stays;
}
