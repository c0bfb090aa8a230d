import { writeFile } from 'node:fs/promises';
import { arch, cpus, platform, release, totalmem } from 'node:os';
import type { Config } from '../settings/config.ts';
import type { Database } from '../postgres/database.ts';
import { readBundle } from '../read/support-bundle.ts';
import { messageOf, UsageError } from '../errors.ts';
import { version } from '../package.ts';
import { createRedactor, passwordsIn, pathIn } from '../settings/redact.ts';
import type { DoctorFinding } from './examine-database.ts';

interface BundleOptions {
  readonly config: Config;
  readonly database: Database;
  /** The URL of the embedded server, whose password is secret, too; undefined if `DATABASE_URL` is set. */
  readonly embeddedUrl: string | undefined;
  readonly findings: readonly DoctorFinding[];
}

/**
 * Writes everything that a bug report needs to one file. The file is redacted as a whole: it contains no key and no
 * password, whatever a table or setting contains.
 * @throws UsageError if the file cannot be written
 */
export async function writeBundle(
  path: string,
  { config, database, embeddedUrl, findings }: BundleOptions,
): Promise<void> {
  const { databaseUrl, apiKey, baseUrl, ...settings } = config;
  const bundle = {
    program: { version, node: process.version, platform: platform(), release: release(), arch: arch() },
    machine: { cpus: cpus().length, memory: totalmem() },
    settings: {
      ...settings,
      baseUrl: baseUrl ?? null,
      apiKey: apiKey === undefined ? 'not set' : 'set',
      databaseUrl: databaseUrl === undefined ? 'not set: embedded' : database.label,
    },
    database: { label: database.label, version: database.version },
    findings,
    tables: await readBundle(database),
  };
  const redact = createRedactor([
    apiKey,
    ...passwordsIn(databaseUrl, baseUrl, embeddedUrl),
    ...pathIn(baseUrl),
  ]);
  const text = redact(`${JSON.stringify(bundle, null, 2)}\n`);
  try {
    await writeFile(path, text, { mode: 0o600 });
  } catch (error) {
    throw new UsageError(`the bundle cannot be written to ${path}: ${messageOf(error)}`, {
      hint: 'Give --bundle a file in a directory that can be written to.',
    });
  }
}
