import { copyCost, type RowFiles } from './copy-limit.ts';
import type { BenchStore } from '../store.ts';

const ROUNDS = 3;

export interface IndexCost {
  readonly index: string;
  /** The time for all rows without it, divided by the time with all: 0.9 means that it costs a tenth of the time. */
  readonly without: number;
}

interface Index {
  readonly name: string;
  readonly definition: string;
}

/**
 * What each secondary index costs during inserts, and what it would cost to build all of them afterwards, as
 * for a partition that a backfill fills. Keys stay: they identify rows.
 */
export async function indexCosts(target: BenchStore, files: RowFiles): Promise<IndexCost[]> {
  const { client } = target;
  const { rows: indexes } = await client.query<Index>(
    `select format('ton.%I', indexname) as name, replace(indexdef, ' ON ONLY ', ' ON ') as definition from pg_indexes
     where schemaname = 'ton' and tablename in ('transactions', 'messages') and indexdef not like 'CREATE UNIQUE%'
     order by 1`,
  );
  const secondsOf = async (how?: Parameters<typeof copyCost>[2]) =>
    (await copyCost(target, files, { rounds: ROUNDS, ...how })).seconds;
  const all = await secondsOf();
  const costs: IndexCost[] = [];
  for (const { name, definition } of indexes) {
    await client.query(`drop index ${name}`);
    costs.push({ index: name, without: (await secondsOf()) / all });
    await client.query(definition);
  }
  const drop = indexes.map(({ name }) => `drop index if exists ${name}`).join(';');
  const build = indexes.map(({ definition }) => definition).join(';');
  const later = await secondsOf({ before: drop, afterwards: build });
  return [...costs, { index: 'all of them, built after the rows', without: later / all }];
}
