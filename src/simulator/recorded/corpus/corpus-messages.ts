import type { MessageSource } from '../../ledger.ts';
import { listed } from '../../simulator-rows.ts';
import { at, indexes } from './recorded-rows.ts';
import type { RecordedMessage, RecordedTransaction } from './recorded.ts';

export interface MessageEntry {
  message: RecordedMessage;
  sender: number | undefined;
  receiver: number | undefined;
}

/** Each message once, with the rows of the transactions on its sides. The sender's copy counts. */
export function collectMessages(rows: readonly RecordedTransaction[]): MessageEntry[] {
  const byHash = new Map<string, MessageEntry>();
  const entry = (message: RecordedMessage): MessageEntry => {
    const known = byHash.get(message.hash);
    if (known !== undefined) return known;
    const made: MessageEntry = { message, sender: undefined, receiver: undefined };
    byHash.set(message.hash, made);
    return made;
  };
  rows.forEach((row, index) => {
    if (row.in_msg !== null && row.in_msg !== undefined) entry(row.in_msg).receiver ??= index;
    for (const message of row.out_msgs) Object.assign(entry(message), { message, sender: index });
  });
  return [...byHash.values()];
}

/** Recorded messages as a ledger shows them. */
export function corpusMessages(
  rows: readonly RecordedTransaction[],
  entries: readonly MessageEntry[],
): MessageSource {
  const number = (text: string | null | undefined): number | null =>
    text === null || text === undefined ? null : Number(text);
  const all = listed(entries.map((_, index) => index));
  const hashOf = (row: number | undefined): string | undefined =>
    row === undefined ? undefined : rows[row]?.hash;
  return {
    nearLt: () => all,
    nearTime: () => all,
    ofHashes: (hashes) =>
      indexes(
        entries,
        ({ message }) => hashes.includes(message.hash) || hashes.includes(message.hash_norm ?? ''),
      ),
    facts: (row) => {
      const { message, sender, receiver } = at(entries, row);
      const transactionLt = Number(rows[sender ?? receiver ?? 0]?.lt ?? 0);
      const [createdLt, createdAt] = [number(message.created_lt), number(message.created_at)];
      const [source, destination] = [message.source ?? null, message.destination ?? null];
      return { source, destination, createdLt, createdAt, transactionLt, sender, receiver };
    },
    hash: (row) => at(entries, row).message.hash,
    opcode: (row) => {
      const { opcode } = at(entries, row).message;
      return typeof opcode === 'number'
        ? `0x${(opcode >>> 0).toString(16).padStart(8, '0')}`
        : (opcode ?? null);
    },
    bodyHash: (row) => at(entries, row).message.message_content?.hash ?? null,
    text: (row, sides) => {
      const { message, sender, receiver } = at(entries, row);
      const [inHash, outHash] = [
        sides.in ? hashOf(receiver) : undefined,
        sides.out ? hashOf(sender) : undefined,
      ];
      return JSON.stringify({ ...message, in_msg_tx_hash: inHash, out_msg_tx_hash: outHash });
    },
    addresses: (row) => {
      const { source, destination } = at(entries, row).message;
      return [source, destination].filter((end) => end !== null && end !== undefined);
    },
  };
}
