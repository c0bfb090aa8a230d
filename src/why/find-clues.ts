import * as z from 'zod';
import type { Dataset } from '../dataset/dataset.ts';
import type { Database } from '../postgres/database.ts';
import { findingsOfHash, type OpenFinding } from '../ledger/stored-findings.ts';
import {
  findPages,
  findQuarantined,
  findRows,
  readSecond,
  type FoundRow,
  type HashColumn,
  type LoggedPage,
  type QuarantinedRecord,
  type SecondCoverage,
} from '../read/find-hash.ts';
import { EtlError } from '../errors.ts';
import { parseCanonical } from '../dataset/declaration/canonical.ts';
import { hash, optionalHash } from '../records/members/form.ts';
import { requiredCount } from '../records/members/scalar.ts';
import type { ApiClient } from '../api/client.ts';

/** A fact about a hash, in the order in which it is found. */
export type Clue =
  | { readonly kind: 'wrong'; readonly finding: OpenFinding }
  | {
      readonly kind: 'stored';
      readonly row: FoundRow;
      readonly pages: readonly LoggedPage[];
      readonly hash: string;
    }
  | { readonly kind: 'quarantined'; readonly record: QuarantinedRecord }
  | { readonly kind: 'absent'; readonly hashColumns: readonly HashColumn[] }
  | { readonly kind: 'asked'; readonly hash: string }
  | { readonly kind: 'unanswered'; readonly error: EtlError }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'known'; readonly thing: KnownThing; readonly asked: string }
  | { readonly kind: 'second'; readonly coverage: SecondCoverage; readonly time: number };

interface Search {
  readonly database: Database;
  readonly datasets: readonly Dataset[];
  /** Columns that hold hashes. */
  readonly hashColumns: readonly HashColumn[];
  readonly hash: string;
  /** Unix seconds when it happened; undefined if the API must be asked. */
  readonly at: number | undefined;
  /** What the API knows about the hash; undefined if it knows nothing. */
  readonly ask: (hash: string) => Promise<KnownThing | undefined>;
}

/** Yields findings about a hash and its rows, otherwise quarantined records, otherwise whether its second was read. */
export async function* findClues(search: Search): AsyncGenerator<Clue> {
  const { database, hashColumns, hash, at } = search;
  for (const finding of await findingsOfHash(database, hash)) yield { kind: 'wrong', finding };
  const stored = await findStored(search, hash);
  yield* stored;
  if (stored.length > 0) return;
  const quarantined = await findQuarantined(database, hash);
  yield* quarantined.map((record): Clue => ({ kind: 'quarantined', record }));
  if (quarantined.length > 0) return;
  yield { kind: 'absent', hashColumns };
  if (at === undefined) yield* askApi(search);
  else yield* findCoverage(search, at, (table) => hashColumns.some((column) => column.table === table));
}

async function findStored({ database, datasets, hashColumns }: Search, hash: string): Promise<Clue[]> {
  const clues: Clue[] = [];
  for (const row of await findRows(database, hashColumns, hash)) {
    const writers = datasets
      .filter(({ job }) => Object.hasOwn(job.tables, row.table))
      .map(({ name }) => name);
    clues.push({ kind: 'stored', row, pages: await findPages(database, writers, row), hash });
  }
  return clues;
}

/** Without a time it is unknown whether its range was read, so the API is asked for the time. */
async function* askApi(search: Search): AsyncGenerator<Clue> {
  const { hash, ask } = search;
  yield { kind: 'asked', hash };
  let thing: KnownThing | undefined;
  try {
    thing = await ask(hash);
  } catch (error) {
    if (!(error instanceof EtlError)) throw error;
    yield { kind: 'unanswered', error };
    return;
  }
  if (thing === undefined) {
    yield { kind: 'unknown' };
    return;
  }
  yield { kind: 'known', thing, asked: hash };
  const stored = thing.hash === hash ? [] : await findStored(search, thing.hash);
  yield* stored;
  if (stored.length === 0) yield* findCoverage(search, thing.utime, (table) => table === 'transactions');
}

/** If a dataset covers a second, every row of its own table in that second should be stored. */
async function* findCoverage(
  { database, datasets }: Search,
  time: number,
  isOwn: (table: string) => boolean,
): AsyncGenerator<Clue> {
  const owners = datasets.filter(({ job }) => isOwn(Object.keys(job.tables)[0] ?? ''));
  const names = owners.map(({ name }) => name);
  for (const coverage of await readSecond(database, names, time)) yield { kind: 'second', coverage, time };
}

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
