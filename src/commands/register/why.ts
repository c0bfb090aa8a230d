import type { Command } from 'commander';
import type { why } from '../why.ts';
import { runCommand } from '../command.ts';
import { examples } from './words.ts';

export function registerWhy(program: Command): void {
  program
    .command('why')
    .description(
      'what became of a transaction or message: stored, in quarantine, never read, or missing (exit 3)',
    )
    .argument('<hash>', 'in hex, base64 or base64url')
    .option('--at <time>', 'when it happened; else the API is asked, with one or two requests')
    // A hash in base64url may begin with a dash.
    .allowUnknownOption()
    .addHelpText(
      'after',
      examples('toncenter-etl why 0x5f3c…e1', 'toncenter-etl why XzwSb…4Q= --at 2026-11-01T10:00Z'),
    )
    .action((hash: string, flags: Parameters<typeof why>[2]) =>
      runCommand(async (invocation) => (await import('../why.ts')).why(invocation, hash, flags)),
    );
}
