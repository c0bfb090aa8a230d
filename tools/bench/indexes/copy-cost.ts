import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type pg from 'pg';
import type { BenchStore } from '../store.ts';
import { CANDIDATES, type Candidate } from './candidates.ts';
import { MONTH } from './generate.ts';

/** The cost of storing the rows of a month. */
export interface CopyCost extends Candidate {
  readonly rows: number;
  /** The least of all rounds: other work on the machine can only add to it. */
  readonly seconds: number;
  /** Of the index alone; of all indexes of the table if the candidate is none. */
  readonly indexBytes: number;
  readonly walBytes: number;
}

const TARGET = 'bench.target';

/** What each candidate adds to a COPY of a month's rows into a table with its indexes. */
export async function copyCosts({ client }: BenchStore, rounds: number): Promise<CopyCost[]> {
  const costs: CopyCost[] = [];
  for (const table of new Set(CANDIDATES.map((candidate) => candidate.table))) {
    const path = join(tmpdir(), `toncenter-etl-bench-${process.pid}-${table}`);
    const { rowCount } = await client.query(
      `copy (select * from ton.${table} where utime >= '${MONTH.from}' order by utime) to '${path}'`,
    );
    for (const candidate of CANDIDATES.filter((each) => each.table === table)) {
      const cost = await copy(client, candidate, { path, rounds });
      costs.push({ ...candidate, rows: rowCount ?? 0, ...cost });
    }
    await rm(path, { force: true });
  }
  return costs;
}

async function copy(
  client: pg.Client,
  { table, using }: Candidate,
  { path, rounds }: { path: string; rounds: number },
): Promise<Pick<CopyCost, 'seconds' | 'indexBytes' | 'walBytes'>> {
  let seconds = Infinity;
  let bytes = { indexBytes: NaN, walBytes: NaN };
  for (let round = 0; round < rounds; round += 1) {
    await client.query(`create table ${TARGET} (like ton.${table} including all)`);
    if (using !== null) await client.query(`create index candidate on ${TARGET} using ${using}`);
    await client.query('checkpoint');
    const position = await numberOf(client, `select pg_current_wal_lsn() - '0/0'`);
    const start = performance.now();
    await client.query(`copy ${TARGET} from '${path}'`);
    // A BRIN index summarizes ranges of pages when they are full: a vacuum does it sooner or later.
    if (using?.startsWith('brin') === true)
      await client.query(`select brin_summarize_new_values('bench.candidate')`);
    seconds = Math.min(seconds, (performance.now() - start) / 1000);
    bytes = {
      walBytes: (await numberOf(client, `select pg_current_wal_lsn() - '0/0'`)) - position,
      indexBytes: await numberOf(
        client,
        using === null ? `select pg_indexes_size('${TARGET}')` : `select pg_relation_size('bench.candidate')`,
      ),
    };
    await client.query(`drop table ${TARGET}`);
  }
  return { seconds, ...bytes };
}

async function numberOf(client: pg.Client, query: string): Promise<number> {
  const { rows } = await client.query<Record<string, string>>(query);
  return Number(Object.values(rows[0] ?? {})[0]);
}
