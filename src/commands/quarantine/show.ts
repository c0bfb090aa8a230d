import { readQuarantined } from '../../db/read/quarantined.ts';
import { EXIT, UsageError, type ExitCode } from '../../errors.ts';
import type { Invocation } from '../command.ts';
import { printRecord } from '../output/quarantine-report.ts';
import { withStore } from '../with-store.ts';
import { programName } from '../../terminal/program-name.ts';

/** `quarantine show ID`: one record, whole. */
export function quarantineShow(invocation: Invocation, id: number): Promise<ExitCode> {
  return withStore(invocation, 'toncenter-etl quarantine', async ({ database }) => {
    const [record] = await readQuarantined(database, { ids: [id] }, { after: 0, limit: 1 });
    if (record === undefined) {
      throw new UsageError(`there is no record ${id} in quarantine`, {
        hint: `\`${programName} quarantine list\` shows which there are.`,
      });
    }
    printRecord(record);
    return EXIT.done;
  });
}
