import type { Command } from 'commander';
import type { VerifyFlags } from '../parse/verify-flags.ts';
import { runCommand } from '../command.ts';
import { examples, datasetList, TIMES } from './words.ts';

export function registerVerify(program: Command): void {
  program
    .command('verify')
    .description(
      'prove a range from what is stored: every check that its datasets have (exit 3 where it is not proved)',
    )
    .option('--from <time>', 'first second of the range, UTC')
    .option('--to <time>', 'end of the range, exclusive')
    .option('--lake <place>', 'recount a lake that `export` wrote instead, from its parts alone')
    .option('--only <datasets>', 'these datasets instead of ETL_DATASETS, with commas between', datasetList)
    .option('--deep <share>', 'also read such a share of the pages again and compare every value, e.g. 1%')
    .option('--repair', 'read again what is missing or wrong, and verify again')
    .option('--record <dir>', 'keep every response of the API there, for `simulate --corpus <dir>`')
    .option('--json', 'for programs')
    .addHelpText(
      'after',
      `
${TIMES}
${examples(
  'toncenter-etl verify --from 2026-11-01 --to 2026-11-02',
  'toncenter-etl verify --from 2026-11-01 --to 2026-11-02 --repair',
  'toncenter-etl verify --from 2026-11 --to 2026-12 --deep 1% --json',
  'toncenter-etl verify --lake ./november',
)}`,
    )
    .action(({ lake, ...flags }: LakeOrRange) =>
      runCommand(async (invocation) =>
        lake === undefined
          ? (await import('../verify.ts')).verify(invocation, flags)
          : (await import('../verify-lake.ts')).verifyOfLake(invocation, lake),
      ),
    );
}

interface LakeOrRange extends VerifyFlags {
  readonly lake?: string;
}
