import { vi } from 'vitest';
import { exportRows } from '../../src/commands/export-command.ts';
import { importRows } from '../../src/commands/import-command.ts';
import { verifyOfLake } from '../../src/commands/verify-command.ts';
import { readLog, type TableLog } from '../../src/lake/delta-log.ts';
import { withLake } from '../../src/lake/open-lake.ts';
import { silent, testConfig } from './crawl.ts';

/** The exit code of a command, and its stdout and stderr. */
export interface Outcome {
  readonly code: number;
  readonly printed: readonly string[];
  readonly errors: readonly string[];
}

async function quietly(work: () => Promise<number>): Promise<Outcome> {
  const printed: string[] = [];
  const errors: string[] = [];
  const log = vi.spyOn(console, 'log').mockImplementation((line: string) => void printed.push(line));
  const error = vi.spyOn(console, 'error').mockImplementation((line: string) => void errors.push(line));
  try {
    return { code: await work(), printed, errors };
  } finally {
    log.mockRestore();
    error.mockRestore();
  }
}

export const invocationOf = (databaseUrl: string) => ({
  config: testConfig({ databaseUrl }),
  logger: silent,
  now: Math.floor(Date.now() / 1000),
});

/** The commands that read and write lakes, on a database. */
export const exported = (url: string, flags: Parameters<typeof exportRows>[1]): Promise<Outcome> =>
  quietly(() => exportRows(invocationOf(url), flags));

export const imported = (url: string, flags: Parameters<typeof importRows>[1]): Promise<Outcome> =>
  quietly(() => importRows(invocationOf(url), flags));

export const verified = (location: string): Promise<Outcome> =>
  quietly(() => verifyOfLake(invocationOf(''), location));

/** The log of a table. */
export const logIn = (location: string, table: string): Promise<TableLog> =>
  withLake(location, (lake) => readLog(lake, table));
