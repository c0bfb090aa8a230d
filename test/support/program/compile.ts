import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { rename, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { inject } from 'vitest';

const ROOT = join(import.meta.dirname, '..', '..', '..');
/** Files that the program expects next to itself. */
const BESIDE = ['node_modules', 'package.json', 'migrations', 'web'];
/** Programs that tests run as separate processes, next to the program. */
const PROCESSES = [
  'test/embedded/child.ts',
  'test/support/budget/spender.ts',
  'test/support/kill/at-file-call.ts',
  'test/support/kill/child.ts',
  'test/support/leases/claimant.ts',
  'test/support/program/host.ts',
  'test/support/program/log-writer.ts',
  'test/support/scale/worker.ts',
];

/**
 * The directory with the program, and what tests run next to it, as `npm run build` makes it; every user can
 * read it. All tests of a run share it: the first one makes it, and the end of the run removes it.
 */
export async function compile(): Promise<string> {
  const directory = inject('compiledProgram');
  if (!existsSync(directory)) await compileInto(directory);
  return directory;
}

/** If two processes do this at the same time, the later one repeats the work and changes nothing. */
async function compileInto(directory: string): Promise<void> {
  const unfinished = `${directory}-${randomBytes(6).toString('hex')}`;
  const build = join(ROOT, 'tools', 'build.js');
  await promisify(execFile)(process.execPath, [build, unfinished, ...PROCESSES]);
  await Promise.all(BESIDE.map((name) => symlink(join(ROOT, name), join(unfinished, name))));
  await rename(unfinished, directory).catch(async (error: unknown) => {
    if (!existsSync(directory)) throw error;
    await rm(unfinished, { recursive: true });
  });
}
