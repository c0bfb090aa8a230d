import { codeOf, EXIT, UsageError, type ExitCode } from '../errors.ts';
import { formatTime } from '../range.ts';
import { startSimulator, type Simulator, type SimulatorOptions } from '../simulator/http/server.ts';
import type { Invocation } from './command.ts';
import { parseSimulate, type SimulateFlags } from './parse/simulate-flags.ts';
import { programName } from '../terminal/program-name.ts';

/** `simulate`: serves a simulated TON Center until Ctrl-C. */
export async function simulate({ now }: Invocation, flags: SimulateFlags): Promise<ExitCode> {
  const simulator = await listen(parseSimulate(flags, now));
  try {
    console.log(`serving   ${describe(flags, simulator)}`);
    for (const line of simulator.contents) console.log(`          ${line}`);
    console.log(`address   ${simulator.url}/api/v3`);
    console.log(`use it    TONCENTER_NETWORK=${simulator.url} ${programName} sync`);
    await new Promise((resolve) => process.once('SIGINT', resolve).once('SIGTERM', resolve));
    console.log(`stopped   after ${simulator.stats.total} requests`);
    for (const [path, requests] of simulator.stats.byPath) console.log(`          ${path} ${requests}`);
    return EXIT.done;
  } finally {
    await simulator.close();
  }
}

async function listen(options: SimulatorOptions): Promise<Simulator> {
  try {
    return await startSimulator(options);
  } catch (error) {
    const code = codeOf(error);
    if (code !== 'EADDRINUSE' && code !== 'EACCES') throw error;
    const why = code === 'EACCES' ? 'needs more rights than this user has' : 'is taken';
    throw new UsageError(`port ${options.port ?? 0} ${why}`, {
      hint: 'Give another --port, or none for any free one.',
    });
  }
}

function describe({ corpus, live }: SimulateFlags, { headTime }: Simulator): string {
  if (corpus !== undefined) return `what was recorded in ${corpus}`;
  const head = formatTime(Math.floor(headTime));
  return live === true ? `a network whose head is now ${head} and moves` : `a network that ends at ${head}`;
}
