import type { Command } from 'commander';
import { runCommand } from '../command.ts';
import type { QuarantineFlags } from '../parse/quarantine-flags.ts';
import { examples, datasetList, refuseWords, wholeNumber, wholeNumbers } from './words.ts';

export function registerQuarantine(program: Command): void {
  const quarantine = program
    .command('quarantine')
    .description('records of the API that did not fit their schema: kept whole, and missing from the data')
    .addHelpText(
      'after',
      examples(
        'toncenter-etl quarantine list',
        'toncenter-etl quarantine retry           # after an upgrade: without a request',
        'toncenter-etl quarantine retry --again   # asks the API for their seconds anew',
        'toncenter-etl quarantine export > quarantine.jsonl',
      ),
    );

  refuseWords(quarantine, quarantine.command('list', { isDefault: true }))
    .description('why, and which')
    .option('--only <datasets>', 'of these datasets, with commas between', datasetList)
    .option('--json', 'for programs')
    .action((flags: QuarantineFlags) =>
      runCommand(async (invocation) =>
        (await import('../quarantine/list.ts')).quarantineList(invocation, flags),
      ),
    );

  quarantine
    .command('show')
    .description('one record, whole, with the request that brought it')
    .argument('<id>', 'its number in the list', wholeNumber)
    .action((id: number) =>
      runCommand(async (invocation) =>
        (await import('../quarantine/show.ts')).quarantineShow(invocation, id),
      ),
    );

  registerRetry(quarantine);

  quarantine
    .command('export')
    .description('a JSON line a record, to stdout')
    .option('--only <datasets>', 'of these datasets, with commas between', datasetList)
    .action((flags: QuarantineFlags) =>
      runCommand(async (invocation) =>
        (await import('../quarantine/export.ts')).quarantineExport(invocation, flags),
      ),
    );
}

function registerRetry(quarantine: Command): void {
  quarantine
    .command('retry')
    .description('read them again with this version (exit 3 where some still do not fit)')
    .argument('[ids...]', 'their numbers in the list; default all', wholeNumbers)
    .option('--only <datasets>', 'of these datasets, with commas between', datasetList)
    .option('--again', 'ask the API anew for the seconds of those that still do not fit')
    .action((ids: readonly number[], flags: QuarantineFlags) =>
      runCommand(async (invocation) =>
        (await import('../quarantine/retry.ts')).quarantineRetry(invocation, ids, flags),
      ),
    );
}
