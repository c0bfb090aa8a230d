import pg from 'pg';
import type { Choices } from '../../src/settings/config.ts';
import { fillRange } from '../../src/crawl/streams/read-leases.ts';
import { findReadablePart } from '../../src/crawl/streams/readable-part.ts';
import { readCollections } from '../../src/crawl/collections/read-collections.ts';
import { noTurns } from '../../src/crawl/collections/walk-context.ts';
import { loadDatasets } from '../../src/dataset/load-jobs.ts';
import { chooseDatasets, piggybackedCollections, splitKinds } from '../../src/dataset/dataset.ts';
import type { Range } from '../../src/range.ts';
import type { Stop } from '../../src/stop.ts';
import { datasetsNamed, never, openTestCrawl } from './crawl.ts';
import type { TestStore } from './database/database.ts';

type Row = Readonly<Record<string, unknown>>;

interface Reading {
  readonly range?: Range;
  readonly choices?: Partial<Choices>;
  readonly stop?: Stop;
}

/** Reads collections once, as a separate process would, and returns the names of those that were refused. */
export async function readOnce(
  store: TestStore,
  url: string,
  names: readonly string[],
  { range, choices, stop = never }: Reading = {},
): Promise<readonly string[]> {
  const all = await loadDatasets();
  const { collections } = splitKinds(chooseDatasets(names, all));
  // If it were stopped before it is opened, a crawl would not open at all.
  const opening = { ...stop, finishing: never.finishing };
  const crawl = await openTestCrawl(store, url, { stop: opening, maxAttempts: 3, hasty: true });
  try {
    const round = {
      context: crawl.context,
      owner: crawl.owner,
      range: () => range,
      stop,
      priority: 'backfill' as const,
      choices: { accounts: 'watched' as const, bocs: false, ...choices },
      piggybacked: piggybackedCollections(splitKinds(all).collections),
      firstSeqno: crawl.chain.first.seqno,
      turns: noTurns,
    };
    return await readCollections(round, collections);
  } finally {
    await crawl.close();
  }
}

/** Reads streams of a network, so that there is something to look up. */
export async function readStreamsOf(
  store: TestStore,
  url: string,
  range: Range,
  names: readonly string[],
): Promise<void> {
  const crawl = await openTestCrawl(store, url);
  const readable = await findReadablePart({
    ...crawl,
    wanted: range,
    delaySeconds: 0,
    signal: never.leaving,
  });
  await fillRange({ ...crawl, datasets: await datasetsNamed(...names), readable, stop: never });
  await crawl.close();
}

/** The rows of a statement, with the driver's own types: numbers beyond 2^53 as text, JSON parsed. */
export async function select(store: TestStore, statement: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: store.url, options: '-c timezone=UTC' });
  await client.connect();
  try {
    return (await client.query<Row>(statement)).rows;
  } finally {
    await client.end();
  }
}

/** A value without members that are null: a missing member means the same. */
export function bare(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(bare);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).filter(([, member]) => member !== null && member !== undefined);
  return Object.fromEntries(members.map(([name, member]) => [name, bare(member)]));
}

/** Records in the order of their identifiers. */
export function sorted(records: readonly unknown[], name = 'address'): unknown[] {
  const key = (record: unknown): string => String((record as Row)[name]);
  return records.map(bare).sort((a, b) => (key(a) < key(b) ? -1 : 1));
}

/** Columns of a row that are equal to members of a record. */
export function without(row: Row, ...names: string[]): Row {
  return Object.fromEntries(
    Object.entries(row).filter(([name]) => !['loaded_at', 'extra', ...names].includes(name)),
  );
}
