import type { Command } from 'commander';
import { codeOf, EXIT, type ExitCode, UsageError } from '../errors.ts';
import { formatTime, HOUR, parseTime } from '../range.ts';
import type { Build } from '../simulator/build.ts';
import { type Faults, FAULT_LINES, readFault } from '../simulator/faults.ts';
import { type Simulator, type SimulatorOptions, startSimulator } from '../simulator/http/server.ts';
import { callWith, commandLine } from '../terminal/program-name.ts';
import { wrap } from '../terminal/terminal.ts';
import { examples } from './option-words.ts';
import { type Invocation, runCommand } from './run-command.ts';
import { readRateLimit } from '../simulator/http/rate-limiter.ts';

const faultLine = ([name, does]: readonly [string, string]) =>
  wrap(`  ${name.padEnd(18)} ${does}`, 80, ' '.repeat(21));

export function defineSimulate(command: Command): void {
  command
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
    .option('--fault <name=value...>', 'a fault to simulate; may be given several times')
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
    .action((flags: SimulateFlags) => runCommand((invocation) => simulate(invocation, flags)));
}

/** `simulate`: serves a simulated TON Center until Ctrl-C. */
async function simulate({ now }: Invocation, flags: SimulateFlags): Promise<ExitCode> {
  const simulator = await listen(parseSimulate(flags, now));
  try {
    console.log(`serving   ${describe(flags, simulator)}`);
    for (const line of simulator.contents) console.log(`          ${line}`);
    console.log(`address   ${simulator.url}/api/v3`);
    callWith(`TONCENTER_NETWORK=${simulator.url} `);
    console.log(`use it    ${commandLine('sync')}`);
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
    const why = code === 'EACCES' ? 'needs more rights than this user has' : 'is in use';
    throw new UsageError(`port ${options.port ?? 0} ${why}`, {
      hint: 'Give another --port, or omit it for any free one.',
    });
  }
}

function describe({ corpus, live }: SimulateFlags, { headTime }: Simulator): string {
  if (corpus !== undefined) return `what was recorded in ${corpus}`;
  const head = formatTime(Math.floor(headTime));
  return live === true ? `a network whose head is now ${head} and moves` : `a network that ends at ${head}`;
}

interface SimulateFlags {
  readonly port?: string;
  readonly seed?: string;
  readonly from?: string;
  readonly hours?: string;
  readonly txPerSecond?: string;
  readonly live?: boolean;
  readonly build?: string;
  readonly rateLimit?: string;
  readonly key?: string;
  readonly latency?: string;
  readonly corpus?: string;
  readonly fault?: readonly string[];
}

const KEYS_NETWORK = 'simulated';
/** The whole network is generated in memory: a larger one would not fit. */
const MOST_TRANSACTIONS = 20e6;

/**
 * The simulator that the flags describe; `now` is in unix seconds.
 * @throws UsageError if one of them is invalid
 */
function parseSimulate(flags: SimulateFlags, now: number): SimulatorOptions {
  const { build, rateLimit, key, latency, corpus } = flags;
  const port = numberOf('--port', flags.port, { whole: true, most: 65_535 });
  const seed = numberOf('--seed', flags.seed, { whole: true });
  return {
    ...(corpus === undefined ? networkOf(flags, now) : recordingOf(flags, corpus)),
    ...(seed !== undefined && { seed }),
    ...(port !== undefined && { port }),
    ...(build !== undefined && { build: readBuild(build) }),
    ...(rateLimit !== undefined && { rateLimit: readRateLimit(rateLimit) }),
    ...(key !== undefined && { keys: { [key]: KEYS_NETWORK }, network: KEYS_NETWORK }),
    ...(latency !== undefined && { latencyMs: readLatency(latency) }),
    faults: (flags.fault ?? []).reduce((faults: Faults, text) => readFault(text, faults), {}),
  };
}

function numberOf(
  option: string,
  text: string | undefined,
  bounds: { readonly whole?: boolean; readonly most?: number } = {},
): number | undefined {
  if (text === undefined) return undefined;
  const { whole = false, most = Number.MAX_SAFE_INTEGER } = bounds;
  const form = whole ? /^\d+$/ : /^(?=.*[1-9])\d+(\.\d+)?$/;
  if (form.test(text) && Number(text) <= most) return Number(text);
  const kind = whole ? 'a whole number' : 'a number above 0';
  throw new UsageError(`${option} "${text}" is not ${kind}${most < 1e9 ? ` up to ${most}` : ''}`);
}

function readBuild(text: string): Build {
  if (text === '1.2' || text === '1.3') return text;
  throw new UsageError(`--build "${text}" is neither 1.2 nor 1.3`);
}

function readLatency(text: string): readonly [number, number] {
  const [, least, most] = /^(\d+)-(\d+)$/.exec(text) ?? [];
  if (least !== undefined && Number(least) <= Number(most)) return [Number(least), Number(most)];
  throw new UsageError(`--latency "${text}" is not MIN-MAX in milliseconds`, {
    hint: 'Write it like --latency 20-100.',
  });
}

function recordingOf(flags: SimulateFlags, corpus: string): SimulatorOptions {
  const { from, hours, txPerSecond, live } = flags;
  if ([from, hours, txPerSecond, live].every((flag) => flag === undefined)) return { corpus };
  throw new UsageError(
    '--corpus serves recorded data: --from, --hours, --tx-per-second and --live do not apply',
  );
}

/** The history of a live network ends now. Another network begins at `--from`. */
function networkOf(flags: SimulateFlags, now: number): SimulatorOptions {
  const { from, live } = flags;
  const hours = numberOf('--hours', flags.hours) ?? 1;
  const txPerSecond = numberOf('--tx-per-second', flags.txPerSecond);
  const start = from === undefined ? undefined : parseTime(from, now);
  const load = txPerSecond === undefined ? {} : { load: txPerSecond };
  if (live === true) {
    const first = start ?? now - hours * HOUR;
    if (first > now)
      throw new UsageError(
        `--from (${formatTime(first)}) is in the future: the head of a live network is now`,
      );
    refuseHuge(now - first, txPerSecond);
    return { start: Math.floor(first), live: {}, ...load };
  }
  refuseHuge(hours * HOUR, txPerSecond);
  return { duration: Math.ceil(hours * HOUR), ...(start !== undefined && { start }), ...load };
}

function refuseHuge(seconds: number, txPerSecond = 10): void {
  if (seconds * txPerSecond <= MOST_TRANSACTIONS) return;
  throw new UsageError(
    `${Math.round(seconds / HOUR)} hours at ${txPerSecond} transactions a second are more than ${MOST_TRANSACTIONS / 1e6} million`,
    { hint: 'The whole network is kept in memory: reduce --hours or --tx-per-second.' },
  );
}
