import { readQuarantined, readQuarantineKinds } from '../../db/read/quarantined.ts';
import { EXIT, type ExitCode } from '../../errors.ts';
import { everyRecord } from '../../quarantine/every-record.ts';
import type { Invocation } from '../command.ts';
import { factsOf, printQuarantine } from '../output/quarantine-report.ts';
import { parseChosen, type QuarantineFlags } from '../parse/quarantine-flags.ts';
import { withStore } from '../with-store.ts';

/** Records that are shown before the rest is only counted. */
const SHOWN = 50;

/** `quarantine list`: why records did not fit, and which they are. */
export function quarantineList(invocation: Invocation, flags: QuarantineFlags): Promise<ExitCode> {
  return withStore(invocation, 'toncenter-etl quarantine', async ({ database }) => {
    const chosen = await parseChosen([], flags);
    if (flags.json === true) {
      const all: object[] = [];
      for await (const record of everyRecord(database, chosen)) all.push(factsOf(record));
      console.log(JSON.stringify(all, null, 2));
      return EXIT.done;
    }
    const kinds = (await readQuarantineKinds(database)).filter(
      ({ dataset }) => chosen.datasets?.includes(dataset) ?? true,
    );
    printQuarantine(kinds, await readQuarantined(database, chosen, { after: 0, limit: SHOWN }));
    return EXIT.done;
  });
}
