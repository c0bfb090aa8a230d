import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { runCommand } from './command.ts';
import { readIfThere } from './owned-files.ts';
import { codeOf } from '../errors.ts';

/** What a server says of itself in `postmaster.pid`; the file outlives a server that was killed. */
export interface Postmaster {
  readonly pid: number;
  readonly port: number;
  /** `starting` as long as it recovers, which can take minutes after a crash under load. */
  readonly status: 'starting' | 'ready' | 'stopping';
}

/** By the word in the file; a standby takes connections, too. */
const STATUS: ReadonlyMap<string, Postmaster['status']> = new Map([
  ['ready', 'ready'],
  ['standby', 'ready'],
  ['stopping', 'stopping'],
]);

/** What became of the process that `postmaster.pid` names; `reused`: another program has its number now. */
type Life = 'alive' | 'dead' | 'reused';

const POLL_MS = 10;

/**
 * The server named in a data directory, undefined where none is or the file is still being written.
 * Lines: pid, data directory, start time, port, socket directory, listen address, shared memory, status.
 */
export async function readPostmaster(pgdata: string): Promise<Postmaster | undefined> {
  const lines = (await readIfThere(join(pgdata, 'postmaster.pid')))?.split('\n') ?? [];
  const [pid, port] = [Number(lines[0]), Number(lines[3])];
  if (!Number.isInteger(pid) || pid <= 0) return undefined;
  const word = lines[7]?.trim();
  const status = STATUS.get(word ?? '') ?? 'starting';
  return { pid, port: Number.isInteger(port) ? port : 0, status };
}

/**
 * Whether the process is the server of `pgdata`, by the directory on its command line: its working directory says the
 * same, but root in a container may not read that of another user's process.
 */
export async function lifeOf(pid: number, pgdata: string): Promise<Life> {
  if (!isAlive(pid)) return 'dead';
  if (process.platform === 'win32') return 'alive';
  const words = process.platform === 'linux' ? await wordsOnLinux(pid) : await wordsElsewhere(pid);
  if (words === undefined) return 'dead';
  const directory = words[words.indexOf('-D') + 1];
  return directory !== undefined && (await sameDirectory(directory, pgdata)) ? 'alive' : 'reused';
}

/** The command line; undefined for a zombie too, which in a container without an init nobody may ever collect. */
async function wordsOnLinux(pid: number): Promise<string[] | undefined> {
  const words = await readIfThere(`/proc/${pid}/cmdline`);
  return words === undefined || words === '' ? undefined : words.split('\0');
}

/** Cut at spaces: a directory with a space in its name is taken for another one, and Postgres decides. */
async function wordsElsewhere(pid: number): Promise<string[] | undefined> {
  const { status, stdout } = await runCommand('ps', ['-o', 'command=', '-p', String(pid)]);
  return status === 0 ? stdout.trim().split(/\s+/) : undefined;
}

async function sameDirectory(one: string, other: string): Promise<boolean> {
  if (one === other) return true;
  return (await realpath(one).catch(() => one)) === (await realpath(other));
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}

/** The server that runs in a data directory, undefined where none does. */
export async function runningPostmaster(pgdata: string): Promise<Postmaster | undefined> {
  const server = await readPostmaster(pgdata);
  return server !== undefined && (await lifeOf(server.pid, pgdata)) === 'alive' ? server : undefined;
}

/** Asks the server to disconnect everybody, write a checkpoint and end ("fast" shutdown), and waits until it has. */
export async function stopPostmaster(pgdata: string): Promise<void> {
  const server = await runningPostmaster(pgdata);
  if (server === undefined) return;
  process.kill(server.pid, 'SIGINT');
  while ((await lifeOf(server.pid, pgdata)) === 'alive') await delay(POLL_MS);
}
