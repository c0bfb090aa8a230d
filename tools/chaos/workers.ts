import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { residentMemory } from '../../test/support/resident-memory.ts';
import { entryOf } from './bundle.ts';
import { CLOCK_FILE } from './harm/clock.ts';

interface WorkersOptions {
  /** The directory of the workers' logs. */
  readonly directory: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly args: readonly string[];
  readonly processes: number;
}

/** Resident memory of a worker, and when it was measured; milliseconds since the start. */
export interface Memory {
  readonly at: number;
  readonly megabytes: number;
}

/** The workers of one run: each is started again when it has ended. */
export interface Workers {
  /** SIGKILL, and a new one in its place. */
  kill(worker: number): Promise<void>;
  /** SIGSTOP for a while; `meanwhile` runs with its process' pid while it is stopped. */
  freeze(worker: number, ms: number, meanwhile: (pid: number) => Promise<void>): Promise<void>;
  /** Sets a worker's clock, and that of the worker that is started in its place. */
  stepClock(worker: number, stepMs: number): Promise<void>;
  /**
   * From now on the program's version is outdated: a worker that ends with exit 2 is right, and is not
   * started again.
   */
  expectOutdated(): void;
  /** The pid of a worker's process, while it lives. */
  pidOf(worker: number): number | undefined;
  /** SIGKILL to all of them, for good. */
  end(): Promise<void>;
  /** Sentences about workers that ended by themselves although nothing had stopped them. */
  readonly complaints: string[];
  readonly starts: () => number;
  readonly logLines: () => number;
  /** Of the first worker, which is killed only if it is alone. */
  readonly memory: Memory[];
}

/** The compiled program next to this harness. */
const PROGRAM = entryOf(join(import.meta.dirname, '../..'));
/** Files that every worker loads before the program. */
const HARMS = ['two-addresses', 'clock'].map((name) => join(import.meta.dirname, `harm/${name}.js`));
/** Unavailable for the moment: the supervisor starts it again. */
const TRY_AGAIN = 75;
const OUTDATED = 2;
const SAMPLE_MS = 2000;

export function startWorkers(options: WorkersOptions): Workers {
  const complaints: string[] = [];
  let over = false;
  let isOutdated = false;
  let starts = 0;
  const workers: ChildProcess[] = [];
  const clockOf = (worker: number) => join(options.directory, `clock-${worker}`);
  const start = (worker: number): void => {
    starts += 1;
    const log = join(options.directory, `worker-${worker}-${starts}.log`);
    const child = launch(options, log, clockOf(worker));
    workers[worker] = child;
    child.once('exit', (code, signal) => {
      if (over || ending || workers[worker] !== child) return;
      if (isOutdated && code === OUTDATED) return;
      if (signal === null && code !== TRY_AGAIN)
        complaints.push(`worker ${worker} ended by itself with ${String(code)}: ${lastLine(log)}`);
      setTimeout(() => over || ending || workers[worker] !== child || start(worker), 200);
    });
  };
  for (let worker = 0; worker < options.processes; worker += 1) start(worker);
  const sampler = sampleMemory(() => workers[0]?.pid);
  return {
    complaints,
    memory: sampler.samples,
    starts: () => starts,
    logLines: () => linesIn(options.directory),
    async kill(worker) {
      const child = workers[worker];
      await killed(child);
      // Another kill of it may have started the next one meanwhile.
      if (!over && workers[worker] === child) start(worker);
    },
    stepClock: (worker, stepMs) => writeFile(clockOf(worker), String(stepMs)),
    expectOutdated: () => {
      isOutdated = true;
    },
    pidOf: (worker) => workers[worker]?.pid,
    freeze: (worker, ms, meanwhile) => frozen(workers[worker], ms, meanwhile),
    async end() {
      over = true;
      sampler.end();
      await Promise.all(workers.map(killed));
    },
  };
}

function linesIn(directory: string): number {
  const textOf = (name: string) => readFileSync(join(directory, name), 'utf8');
  return readdirSync(directory).reduce((sum, name) => sum + textOf(name).split('\n').length - 1, 0);
}

async function frozen(
  child: ChildProcess | undefined,
  ms: number,
  meanwhile: (pid: number) => Promise<void>,
): Promise<void> {
  if (child?.pid === undefined || child.exitCode !== null) return;
  child.kill('SIGSTOP');
  await meanwhile(child.pid).catch(() => undefined);
  await delay(ms);
  child.kill('SIGCONT');
}

function sampleMemory(pidOf: () => number | undefined) {
  const samples: Memory[] = [];
  const began = performance.now();
  const timer = setInterval(() => {
    const pid = pidOf();
    if (pid === undefined) return;
    const memory = residentMemory(pid);
    if (memory !== undefined) samples.push({ at: performance.now() - began, megabytes: memory.nowMb });
  }, SAMPLE_MS);
  return { samples, end: () => clearInterval(timer) };
}

const living = new Set<ChildProcess>();
let ending = false;

/** Kills every process of the program that still lives, even a stopped one. */
export function killAll(): void {
  ending = true;
  for (const child of living) child.kill('SIGKILL');
}

/** A process of the program; its output goes to a file. */
function launch({ directory, settings, args }: WorkersOptions, log: string, clock: string): ChildProcess {
  const output = openSync(log, 'a');
  const before = HARMS.flatMap((path) => ['--import', path]);
  const child = spawn(process.execPath, [...before, PROGRAM, ...args], {
    cwd: directory,
    env: {
      PATH: process.env['PATH'],
      HOME: directory,
      LOG_LEVEL: 'info',
      [CLOCK_FILE]: clock,
      ...settings,
    },
    stdio: ['ignore', output, output],
  });
  closeSync(output);
  living.add(child);
  child.once('exit', () => living.delete(child));
  return child;
}

async function killed(child: ChildProcess | undefined): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

export function lastLine(log: string): string {
  const lines = readFileSync(log, 'utf8').trim().split('\n');
  return (lines.findLast((line) => !line.startsWith('{')) ?? lines.at(-1) ?? '').slice(0, 400);
}
