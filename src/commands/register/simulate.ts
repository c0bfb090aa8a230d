import { wrap } from '../../terminal/terminal.ts';
import type { Command } from 'commander';
import type { simulate } from '../simulate.ts';
import { runCommand } from '../command.ts';
import { FAULT_LINES } from '../../simulator/read-fault.ts';
import { examples } from './words.ts';

const faultLine = ([name, does]: readonly [string, string]) =>
  wrap(`  ${name.padEnd(18)} ${does}`, 80, ' '.repeat(21));

export function registerSimulate(program: Command): void {
  program
    .command('simulate')
    .description(
      'serve a simulated TON Center on this machine until Ctrl-C: for trying things out, and for tests',
    )
    .option('--port <n>', 'default: any free one')
    .option('--seed <n>', 'equal seeds give equal networks; default 1')
    .option('--from <time>', 'first second of the network; default 2026-01-01')
    .option('--hours <n>', 'how long it lasts, or with --live how much history it begins with; default 1')
    .option('--tx-per-second <n>', 'transactions a second; default 10')
    .option('--live', 'its head moves with the clock')
    .option('--build <1.2|1.3>', 'which of the real servers is imitated; default 1.3')
    .option('--rate-limit <kind:rps>', 'fixed-window, sliding-window or token-bucket; default none')
    .option('--key <key>', 'the only API key that is known; requests without a key pass')
    .option('--latency <min-max>', 'delay of a response, milliseconds')
    .option(
      '--corpus <dir>',
      'serve the recorded traces and responses of this directory, or what --record wrote',
    )
    .option('--fault <name=value...>', 'something that goes wrong; may be given several times')
    .addHelpText(
      'after',
      `
Faults. Each takes a probability from 0 to 1, such as --fault badGateway=0.05,
if nothing else is said:
${FAULT_LINES.map(faultLine).join('\n')}
${examples(
  'toncenter-etl simulate --live --port 8090',
  'toncenter-etl simulate --rate-limit sliding-window:10 --latency 20-100',
  'toncenter-etl simulate --fault truncatedJson=0.1 --fault storm=0.01x20',
)}`,
    )
    .action((flags: Parameters<typeof simulate>[1]) =>
      runCommand(async (invocation) => (await import('../simulate.ts')).simulate(invocation, flags)),
    );
}
