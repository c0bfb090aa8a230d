import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { runCommand } from './command.ts';
import { readIfThere } from './owned-files.ts';
import { codeOf } from '../errors.ts';

/** The contents of `postmaster.pid`. The file stays if the server is killed. */
export interface Postmaster {
  readonly pid: number;
  readonly port: number;
  /** `starting` includes recovery, which can take minutes after a crash under load. */
  readonly status: 'starting' | 'ready' | 'stopping';
}

/** The status for the word in the file. A standby accepts connections, too. */
const STATUS: ReadonlyMap<string, Postmaster['status']> = new Map([
  ['ready', 'ready'],
  ['standby', 'ready'],
  ['stopping', 'stopping'],
]);

/** The state of the process that `postmaster.pid` names; `reused`: its number now belongs to another program. */
type Life = 'alive' | 'dead' | 'reused';

const POLL_MS = 10;

/**
 * The server that a data directory names; undefined if there is none, or if the file is not complete yet.
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
 * Whether the process is the server of `pgdata`, by the directory on its command line. Its working directory would
 * tell the same, but root in a container may not be allowed to read that of another user's process.
 */
export async function lifeOf(pid: number, pgdata: string): Promise<Life> {
  if (!isAlive(pid)) return 'dead';
  if (process.platform === 'win32') return 'alive';
  const words = process.platform === 'linux' ? await wordsOnLinux(pid) : await wordsElsewhere(pid);
  if (words === undefined) return 'dead';
  const directory = words[words.indexOf('-D') + 1];
  return directory !== undefined && (await sameDirectory(directory, pgdata)) ? 'alive' : 'reused';
}

/** The command line; undefined for a zombie, too. In a container without an init process a zombie may stay forever. */
async function wordsOnLinux(pid: number): Promise<string[] | undefined> {
  const words = await readIfThere(`/proc/${pid}/cmdline`);
  return words === undefined || words === '' ? undefined : words.split('\0');
}

/**
 * The command line, split at spaces. A directory with a space in its name is then taken for another one, and Postgres
 * decides.
 */
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

/** The server that runs in a data directory; undefined if none does. */
export async function runningPostmaster(pgdata: string): Promise<Postmaster | undefined> {
  const server = await readPostmaster(pgdata);
  return server !== undefined && (await lifeOf(server.pid, pgdata)) === 'alive' ? server : undefined;
}

/** Requests a "fast" shutdown (disconnect clients, checkpoint, end), and waits until the server has ended. */
export async function stopPostmaster(pgdata: string): Promise<void> {
  const server = await runningPostmaster(pgdata);
  if (server === undefined) return;
  process.kill(server.pid, 'SIGINT');
  while ((await lifeOf(server.pid, pgdata)) === 'alive') await delay(POLL_MS);
}
