import { parseCanonical } from '../dataset/declaration/canonical.ts';
import { hash, optionalHash } from '../records/members/form.ts';
import { requiredCount } from '../records/members/scalar.ts';
import * as z from 'zod';
import type { ApiClient } from '../api/client.ts';

export interface KnownThing {
  readonly kind: 'transaction' | 'message';
  /** Its own hash, if the requested one is a message's normalized hash. */
  readonly hash: string;
  /** Unix seconds of the transaction, of a message's sender, or (external-in) of its receiver. */
  readonly utime: number;
}

const Message = z.object({ hash, hash_norm: optionalHash });
const Transactions = z.object({
  transactions: z.array(
    z.object({
      hash,
      now: requiredCount,
      in_msg: Message.nullish(),
      out_msgs: z.array(Message).nullish(),
    }),
  ),
});

type TransactionLink = z.infer<typeof Transactions>['transactions'][number];

interface Question {
  readonly path: string;
  readonly params: Readonly<Record<string, string>>;
  readonly kind: KnownThing['kind'];
}

/** The requests that find a thing by its hash alone, in this order. */
export function questionsOn(hash: string): Question[] {
  return [
    { path: '/api/v3/transactions', params: { hash }, kind: 'transaction' },
    { path: '/api/v3/transactionsByMessage', params: { msg_hash: hash }, kind: 'message' },
  ];
}

/** Sends requests until a response knows the hash; undefined if none does. Throws what the client throws. */
export async function askByHash(
  api: ApiClient,
  hash: string,
  signal: AbortSignal,
): Promise<KnownThing | undefined> {
  for (const { path, params, kind } of questionsOn(hash)) {
    const { value } = await api.get({
      path,
      params: { ...params, limit: 10, x_no_address_book: true, x_no_metadata: true },
      priority: 'tail',
      signal,
      parse: (body) => parseCanonical(Transactions, body).transactions,
    });
    const [first] = value.toSorted((a, b) => a.now - b.now);
    if (first !== undefined)
      return { kind, utime: first.now, hash: kind === 'transaction' ? first.hash : ownHash(first, hash) };
  }
  return undefined;
}

function ownHash({ in_msg, out_msgs }: TransactionLink, hash: string): string {
  const messages = [in_msg, ...(out_msgs ?? [])].filter(
    (message) => message !== null && message !== undefined,
  );
  return messages.find((message) => message.hash === hash || message.hash_norm === hash)?.hash ?? hash;
}
