import { existsSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';

const MEMORY = '/dev/shm';
const ENOUGH_BYTES = 6 * 1024 ** 3;

/**
 * The directory of the tests' files: in memory if the system has room for it, because databases are files by
 * the thousand.
 */
export function scratchDirectory(): string {
  return freeBytes(MEMORY) >= ENOUGH_BYTES ? MEMORY : tmpdir();
}

function freeBytes(path: string): number {
  if (!existsSync(path)) return 0;
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize;
}
