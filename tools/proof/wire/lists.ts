import type { Random } from '../../../src/simulator/random.ts';

type Json = Record<string, unknown>;

/** The replacement of a list of records: other records, or JSON text of something else. */
type Instead = readonly unknown[] | string | undefined;

/** A way in which the records of a response differ from the real ones. */
export interface Listing {
  readonly name: string;
  /** If true, it applies to every response of the endpoint, and not to one. */
  readonly always?: boolean;
  readonly alter: (records: readonly Json[], random: Random) => Instead;
}

const at = (records: readonly Json[], random: Random) => random.below(records.length);
const without = (records: readonly Json[], index: number) => records.filter((_, other) => other !== index);
const put = (records: readonly Json[], index: number, ...instead: unknown[]) => [
  ...records.slice(0, index),
  ...instead,
  ...records.slice(index + 1),
];

export const LISTINGS: readonly Listing[] = [
  { name: 'no records', alter: () => [] },
  { name: 'records null', alter: () => 'null' },
  { name: 'records left out', alter: () => undefined },
  { name: 'records as an object', alter: (records) => JSON.stringify(Object.fromEntries(records.entries())) },
  { name: 'records as a text', alter: () => '"records"' },
  { name: 'first record missing', alter: (records) => records.slice(1) },
  { name: 'last record missing', alter: (records) => records.slice(0, -1) },
  { name: 'a record missing', alter: (records, random) => without(records, at(records, random)) },
  { name: 'half of the records', alter: (records) => records.slice(0, Math.ceil(records.length / 2)) },
  { name: 'the other half of the records', alter: (records) => records.slice(Math.ceil(records.length / 2)) },
  { name: 'every second record', alter: (records) => records.filter((_, index) => index % 2 === 0) },
  { name: 'records turned round', alter: (records) => records.toReversed() },
  { name: 'two records exchanged', alter: exchanged },
  { name: 'a record twice', alter: (records, random) => twice(records, at(records, random)) },
  {
    name: 'a record in the place of the next',
    alter: (records, random) => copied(records, at(records, random)),
  },
  { name: 'all records twice', alter: (records) => [...records, ...records] },
  { name: 'a record null', alter: (records, random) => put(records, at(records, random), null) },
  { name: 'a record of nothing', alter: (records, random) => put(records, at(records, random), {}) },
  { name: 'a record as a list', alter: (records, random) => put(records, at(records, random), []) },
  { name: 'a record as a text', alter: (records, random) => put(records, at(records, random), 'record') },
  { name: 'a record invented', alter: (records, random) => invented(records, at(records, random)) },
  {
    name: 'a member that nobody knows',
    alter: (records, random) => unknownMember(records, at(records, random)),
  },
  { name: 'at most 100 whatever was asked', always: true, alter: (records) => records.slice(0, 100) },
  { name: 'at most 256 whatever was asked', always: true, alter: (records) => records.slice(0, 256) },
  { name: 'at most 10 whatever was asked', always: true, alter: (records) => records.slice(0, 10) },
];

function exchanged(records: readonly Json[], random: Random): Instead {
  const index = random.below(Math.max(1, records.length - 1));
  const [a, b] = [records[index], records[index + 1]];
  return b === undefined ? records : [...records.slice(0, index), b, a, ...records.slice(index + 2)];
}

function twice(records: readonly Json[], index: number): Instead {
  return put(records, index, records[index], records[index]);
}

function copied(records: readonly Json[], index: number): Instead {
  return index + 1 < records.length ? put(records, index + 1, records[index]) : records;
}

/**
 * A record that does not exist: a copy of another one, under an unused name. A block's is its shard's, as if
 * that had split.
 */
function invented(records: readonly Json[], index: number): Instead {
  const record = records[index] ?? {};
  const text = JSON.stringify(record)
    .replaceAll(/"([A-Za-z0-9+/]{42})[A-Za-z0-9+/]=/g, '"$1Q=')
    .replace(
      /^(\{"workchain":-?\d+,"shard":")(\w+)"/,
      (_, before: string, shard: string) => `${before}${half(shard)}"`,
    );
  return put(records, index, record, JSON.parse(text));
}

/** The first of the two shards that a shard splits into. */
function half(shard: string): string {
  const prefix = BigInt(`0x${shard}`);
  const end = prefix & -prefix;
  return (prefix ^ end ^ (end / 2n)).toString(16).toUpperCase();
}

function unknownMember(records: readonly Json[], index: number): Instead {
  return put(records, index, { ...records[index], wire_unknown: '9007199254740993123' });
}
