import type { Command } from 'commander';
import type { quarantineList, quarantineRetry } from '../quarantine.ts';
import { runCommand } from '../command.ts';
import { examples, list, wholeNumber, wholeNumbers } from './words.ts';

export function registerQuarantine(program: Command): void {
  const quarantine = program
    .command('quarantine')
    .description('records of the API that did not fit their schema: kept whole, a known gap')
    .addHelpText(
      'after',
      examples(
        'toncenter-etl quarantine list',
        'toncenter-etl quarantine retry            # after an upgrade: without a request',
        'toncenter-etl quarantine retry --again    # asks the API for their seconds anew',
        'toncenter-etl quarantine export > quarantine.jsonl',
      ),
    );

  quarantine
    .command('list', { isDefault: true })
    .description('why, and which')
    .option('--only <datasets>', 'of these datasets, with commas between', list)
    .option('--json', 'for programs')
    .action((flags: Parameters<typeof quarantineList>[1]) =>
      runCommand(async (invocation) => (await import('../quarantine.ts')).quarantineList(invocation, flags)),
    );

  quarantine
    .command('show')
    .description('one record, whole, with the request that brought it')
    .argument('<id>', 'its number in the list', wholeNumber)
    .action((id: number) =>
      runCommand(async (invocation) => (await import('../quarantine.ts')).quarantineShow(invocation, id)),
    );

  quarantine
    .command('retry')
    .description('read them again with this version (exit 3 where some still do not fit)')
    .argument('[ids...]', 'their numbers in the list; default all', wholeNumbers)
    .option('--only <datasets>', 'of these datasets, with commas between', list)
    .option('--again', 'ask the API anew for the seconds of those that still do not fit')
    .action((ids: readonly number[], flags: Parameters<typeof quarantineRetry>[2]) =>
      runCommand(async (invocation) =>
        (await import('../quarantine.ts')).quarantineRetry(invocation, ids, flags),
      ),
    );

  quarantine
    .command('export')
    .description('a JSON line a record, to stdout')
    .option('--only <datasets>', 'of these datasets, with commas between', list)
    .action((flags: Parameters<typeof quarantineList>[1]) =>
      runCommand(async (invocation) =>
        (await import('../quarantine.ts')).quarantineExport(invocation, flags),
      ),
    );
}
