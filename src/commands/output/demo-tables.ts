import type { Store } from '../../app/store.ts';
import type { AnyJob, Dataset } from '../../dataset/dataset.ts';
import { runSql } from '../../db/read/free-sql.ts';
import { programName } from '../../terminal/program-name.ts';
import { formatTable } from './table.ts';

const HOUR = `
  select account, count(*) as transactions, round(sum(total_fees) / 1e9, 4) as fees_ton
  from transactions
  where utime >= '2026-01-01 01:00Z' and utime < '2026-01-01 02:00Z'
  group by account order by transactions desc limit 5`;

const LAST_BLOCKS = `
  select utime, workchain, shard, seqno, tx_count from blocks order by utime desc, workchain, shard limit 5`;

/** Prints what the demo has brought: how much of everything, some questions with their answers, and how to ask more. */
export async function printTables(
  { database, embedded }: Store,
  datasets: readonly Dataset<AnyJob>[],
): Promise<void> {
  const names = [...new Set(datasets.flatMap(({ job }) => Object.keys(job.tables)))].sort();
  const counts = names
    .map((name) => `select '${name}' as "table", count(*) as rows from ton.${name}`)
    .join(' union all ');
  await show(database, 'What landed', `select * from (${counts}) counted where rows > 0 order by "table"`);
  await show(database, 'The busiest accounts between 01:00 and 02:00', HOUR);
  await show(database, 'The last blocks', LAST_BLOCKS);
  const place = embedded === undefined ? '' : `ETL_DATA_DIR=${embedded.dataDir} `;
  console.log(`
Now ask it yourself:
  ${place}${programName} sql "${LAST_BLOCKS.trim().replaceAll(/\s+/g, ' ')}"
  ${place}${programName} status`);
}

async function show(database: Store['database'], title: string, query: string): Promise<void> {
  const { columns, rows } = await runSql(database, query, { write: false });
  const cells = rows.map((row) => row.map((cell) => cell ?? ''));
  console.log(`\n${title}\n${formatTable(columns, cells)}`);
}
