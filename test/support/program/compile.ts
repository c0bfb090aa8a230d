import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { rename, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { inject } from 'vitest';

const ROOT = join(import.meta.dirname, '..', '..', '..');
/** What the program looks for beside itself. */
const BESIDE = ['node_modules', 'package.json', 'migrations', 'web'];
/** What tests run in processes of their own, beside the program. */
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
 * The directory with the program, and what tests run beside it, as `npm run build` makes it; every user can read it.
 * All tests of a run share it: the first makes it, the run's end takes it away.
 */
export async function compile(): Promise<string> {
  const directory = inject('compiledProgram');
  if (!existsSync(directory)) await compileInto(directory);
  return directory;
}

/** Where two do it at the same time, one of them is late, and has done nothing that the other has not. */
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
