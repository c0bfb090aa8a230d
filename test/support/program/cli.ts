import { fork, spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { compile } from './compile.ts';
import { openWarmProgram } from './warm-program.ts';

export interface CliResult {
  /** Null if a signal ended it. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunningCli {
  readonly child: ChildProcess;
  readonly ended: Promise<CliResult>;
  /** The matching part of stdout and stderr together, as soon as it is printed. */
  sees(pattern: RegExp): Promise<string>;
}

type Settings = Readonly<Record<string, string>>;

/** The program as its users have it: compiled, in separate processes, with no settings except the given ones. */
export interface Cli {
  start(args: readonly string[], settings?: Settings, input?: string): RunningCli;
  run(args: readonly string[], settings?: Settings, input?: string): Promise<CliResult>;
  /**
   * Like `run`, in a process that has run earlier commands, in their order: for the effects and output of a
   * command. Tests of how a process begins, reads, is ended and exits use a separate one.
   */
  ask(args: readonly string[], settings?: Settings): Promise<CliResult>;
  /** As after `ulimit`: `-n 20` for few open files, `-f 100` for small ones. */
  runWithin(limit: string, args: readonly string[], settings?: Settings): Promise<CliResult>;
  close(): Promise<void>;
}

export async function openCli(): Promise<Cli> {
  const compiled = await compile();
  // This directory has no .env.
  const cwd = await mkdtemp(join(tmpdir(), 'toncenter-etl-cwd-'));
  // As npm links it: by its name.
  const bin = join(cwd, 'toncenter-etl');
  await symlink(join(compiled, 'src', 'cli.js'), bin);
  const children = new Set<ChildProcess>();
  const keep = (child: ChildProcess) => {
    children.add(child);
    child.once('exit', () => children.delete(child));
    return child;
  };
  const environment = (settings: Settings) => ({
    PATH: process.env['PATH'] ?? '',
    HOME: cwd,
    LOG_FORMAT: 'json',
    LOG_LEVEL: 'warn',
    ETL_LISTEN: 'off',
    ...settings,
  });
  const start: Cli['start'] = (...given) => launch([process.execPath, bin], ...given);
  const launch = (
    [program, ...before]: readonly [string, ...string[]],
    args: readonly string[],
    settings: Settings = {},
    input = '',
  ) => follow(keep(spawn(program, [...before, ...args], { cwd, env: environment(settings) })), input);
  const host = join(compiled, 'test', 'support', 'program', 'host.js');
  const warm = openWarmProgram(() => {
    const options = { cwd, env: environment({}), execArgv: [], silent: true };
    return keep(fork(host, [join(compiled, 'src', 'cli.js')], options));
  });
  return {
    start,
    run: (...given) => start(...given).ended,
    ask: (args, settings = {}) => warm.run({ args, env: environment(settings) }),
    runWithin: (limit, ...given) =>
      launch(['sh', '-c', `ulimit ${limit}; exec "$@"`, 'sh', process.execPath, bin], ...given).ended,
    close: async () => {
      // A test that failed half-way leaves its servers behind.
      for (const child of children) child.kill('SIGKILL');
      await rm(cwd, { recursive: true, force: true });
    },
  };
}

function follow(child: ReturnType<typeof spawn>, input: string): RunningCli {
  const { stdout, stderr, stdin } = child;
  if (stdout === null || stderr === null || stdin === null) throw new Error('pipes are missing');
  const code = new Promise<number | null>((resolve) => child.once('exit', resolve));
  let seen = '';
  const look = (chunk: Buffer) => (seen += chunk.toString());
  stdout.on('data', look);
  stderr.on('data', look);
  // A process that ends before it has read its input closes the pipe.
  stdin.on('error', () => undefined);
  stdin.end(input);
  const ended = Promise.all([code, text(stdout), text(stderr)]).then(([exit, out, error]) => {
    return { code: exit, stdout: out, stderr: error };
  });
  return {
    child,
    ended,
    sees: async (pattern) => {
      for (;;) {
        const found = pattern.exec(seen);
        if (found !== null) return found[1] ?? found[0];
        if (child.exitCode !== null || child.signalCode !== null)
          throw new Error(`ended without ${String(pattern)}:\n${seen}`);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
  };
}
