import { EXIT, type ExitCode } from '../../errors.ts';
import { everyRecord } from '../../quarantine/every-record.ts';
import type { Invocation } from '../command.ts';
import { recordLine } from '../output/quarantine-report.ts';
import { parseChosen, type QuarantineFlags } from '../parse/quarantine-flags.ts';
import { withStoreOnce } from '../with-store.ts';

/** `quarantine export`: a JSON line a record, the record itself without a digit lost. */
export function quarantineExport(invocation: Invocation, flags: QuarantineFlags): Promise<ExitCode> {
  return withStoreOnce(invocation, 'toncenter-etl quarantine', async ({ database }) => {
    const chosen = await parseChosen([], flags);
    for await (const record of everyRecord(database, chosen)) console.log(recordLine(record));
    return EXIT.done;
  });
}
