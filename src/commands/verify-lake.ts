import { loadDatasets } from '../dataset/load-jobs.ts';
import { EXIT, type ExitCode } from '../errors.ts';
import { tablesOf } from '../export/tables-of.ts';
import { verifyLake } from '../lake/verify-lake.ts';
import type { Invocation } from './command.ts';
import { withLakeThatIs } from '../lake/open-lake.ts';
import { withStop } from './with-stop.ts';

/** `verify --lake LAKE`: recounts a lake from its parts alone, without a database. */
export async function verifyOfLake({ logger }: Invocation, place: string): Promise<ExitCode> {
  const available = await loadDatasets();
  const tables = new Map(tablesOf(available, available).map((table) => [table.facts.name, table]));
  return withStop(logger, (stop) =>
    withLakeThatIs(place, async (lake) => {
      const counts = { tables: 0, parts: 0, rows: 0, faults: 0 };
      const isWhole = await verifyLake({
        lake,
        tables,
        stop,
        onTable: ({ parts }) => {
          counts.tables += 1;
          counts.parts += parts.length;
          counts.rows += parts.reduce((sum, { rows }) => sum + rows, 0);
        },
        onFault: ({ of, what }) => {
          counts.faults += 1;
          console.log(`${of} ${what}`);
        },
      });
      const { faults, parts, rows } = counts;
      console.error(`${counts.tables} tables, ${parts} parts, ${rows} rows: ${faults} faults`);
      return isWhole && faults === 0 && parts > 0 ? EXIT.done : EXIT.incomplete;
    }),
  );
}
