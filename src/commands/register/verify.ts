import type { Command } from 'commander';
import type { verify } from '../verify.ts';
import { runCommand } from '../command.ts';
import { examples, list } from './words.ts';

export function registerVerify(program: Command): void {
  program
    .command('verify')
    .description(
      'prove a range from what is stored: every check that its datasets have (exit 3 where it is not proved)',
    )
    .requiredOption('--from <time>', 'first second of the range, UTC')
    .requiredOption('--to <time>', 'end of the range, exclusive')
    .option('--only <datasets>', 'these datasets instead of ETL_DATASETS, with commas between', list)
    .option('--deep <share>', 'also read such a share of the pages again and compare every value, e.g. 1%')
    .option('--repair', 'read again what is wanting, and verify again')
    .option('--record <dir>', 'keep every response of the API there, for `simulate --corpus <dir>`')
    .option('--json', 'for programs')
    .addHelpText(
      'after',
      `
Times: 2026-11-01, 2026-11, 2026-11-01T10:00Z, unix seconds, -6h, yesterday, now
${examples(
  'toncenter-etl verify --from 2026-11-01 --to 2026-11-02',
  'toncenter-etl verify --from 2026-11-01 --to 2026-11-02 --repair',
  'toncenter-etl verify --from 2026-11 --to 2026-12 --deep 1% --json',
)}`,
    )
    .action((flags: Parameters<typeof verify>[1]) =>
      runCommand(async (invocation) => (await import('../verify.ts')).verify(invocation, flags)),
    );
}
