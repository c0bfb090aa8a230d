import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Calls `read` with a temporary directory that holds the files of a revision. */
export function withRevision<T>(root: string, revision: string, read: (directory: string) => T): T {
  const directory = mkdtempSync(join(tmpdir(), 'toncenter-etl-structure-'));
  try {
    const archive = join(directory, 'files.tar');
    execFileSync('git', ['archive', '--output', archive, revision], {
      cwd: root,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    execFileSync('tar', ['-xf', archive, '-C', directory]);
    return read(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
