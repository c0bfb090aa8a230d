import type { Command } from 'commander';
import { runCommand } from '../command.ts';
import { examples } from './words.ts';

export function registerDemo(program: Command): void {
  program
    .command('demo')
    .description(
      'crawl a simulated network into the embedded Postgres and show what landed: no key, no server, no internet',
    )
    .addHelpText('after', examples('toncenter-etl demo', 'npm run demo    # in a checkout'))
    .action(() => runCommand(async (invocation) => (await import('../demo.ts')).demo(invocation)));
}
