import type { Command } from 'commander';
import type { doctor } from '../doctor.ts';
import { runCommand } from '../command.ts';
import { examples } from './words.ts';

export function registerDoctor(program: Command): void {
  program
    .command('doctor')
    .description(
      'compare schema, settings, clock, disk and API with what they should be; each finding with its remedy (exit 1)',
    )
    .option('--bundle <file>', 'also write one redacted file for a bug report')
    .option('--json', 'for programs')
    .addHelpText('after', examples('toncenter-etl doctor', 'toncenter-etl doctor --bundle ./bundle.json'))
    .action((flags: Parameters<typeof doctor>[1]) =>
      runCommand(async (invocation) => (await import('../doctor.ts')).doctor(invocation, flags)),
    );
}
