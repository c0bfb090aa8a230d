import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import * as z from 'zod';
import type { BenchServer } from '../store.ts';

/** The cost of a step. */
export interface Cost {
  readonly seconds: number;
  /** Of the program and of Postgres together. */
  readonly cpuSeconds: number;
  /** The peak memory of the program; that of Postgres depends on its settings. */
  readonly megabytes: number;
}

interface Ran extends Cost {
  readonly printed: string;
  /** False if it ended with 3: incomplete. */
  readonly isDone: boolean;
}

const OwnCost = z.object({ megabytes: z.number(), cpuSeconds: z.number() });

const PRELOAD = new URL('./tell-memory.js', import.meta.url).href;

export const CLI = new URL('../../../src/cli.js', import.meta.url);
export const ASK = new URL('./ask.js', import.meta.url);

/**
 * Runs a program in a separate process, so that its memory is measured alone.
 * @throws Error with all that it printed, unless it ends done or incomplete
 */
export async function runApart(
  server: BenchServer,
  program: URL,
  args: readonly string[],
  settings: Readonly<Record<string, string>>,
): Promise<Ran> {
  const folder = await mkdtemp(join(tmpdir(), 'toncenter-etl-bench-cost-'));
  try {
    return await runTelling(server, { program, args, settings, costFile: join(folder, 'cost.json') });
  } finally {
    await rm(folder, { recursive: true });
  }
}

interface Run {
  readonly program: URL;
  readonly args: readonly string[];
  readonly settings: Readonly<Record<string, string>>;
  /** The file in which the program leaves its cost. */
  readonly costFile: string;
}

async function runTelling(server: BenchServer, { program, args, settings, costFile }: Run): Promise<Ran> {
  const [start, before] = [performance.now(), await server.cpuSeconds()];
  const child = spawn(process.execPath, ['--import', PRELOAD, program.pathname, ...args], {
    env: { ...process.env, LOG_LEVEL: 'warn', ...settings, BENCH_COST: costFile },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'exit');
  const [printed, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [code] = (await ended) as [number | null];
  // An incomplete run (3) was measured, too.
  if (code !== 0 && code !== 3)
    throw new Error(`${args.join(' ')} ended with ${String(code)}:\n${printed}${errors}`);
  const own = OwnCost.parse(JSON.parse(await readFile(costFile, 'utf8')));
  return {
    printed,
    isDone: code === 0,
    seconds: (performance.now() - start) / 1000,
    cpuSeconds: own.cpuSeconds + (await server.cpuSeconds()) - before,
    megabytes: own.megabytes,
  };
}
