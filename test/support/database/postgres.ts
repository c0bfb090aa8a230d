import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { inject } from 'vitest';

export interface TestDatabase {
  readonly url: string;
  /** Ends every connection to it and removes it. Databases that are left are removed when the run ends. */
  readonly drop: () => Promise<void>;
}

/** object_in_use: another session is connected to the template, or clones it, too. */
const IN_USE = '55006';
const CLONE_PATIENCE_MS = 20_000;

/** A separate database for one test or file, empty or a copy of a template that `templateDatabase` named. */
export async function createDatabase({ template }: { template?: string } = {}): Promise<TestDatabase> {
  const name = `${inject('postgresRun')}_${randomBytes(5).toString('hex')}`;
  // Copied as files, not page by page through the log: this takes a tenth of the time if no process waits for
  // a disk.
  const source =
    template === undefined ? '' : ` template ${pg.escapeIdentifier(template)} strategy file_copy`;
  await whileInUse(() => admin().query(`create database ${pg.escapeIdentifier(name)}${source}`));
  return { url: urlOf(name), drop: () => drop(name) };
}

/** Templates that exist, or that this process waits for. */
const templates = new Map<string, Promise<string>>();

/**
 * The name of a database that `prepare` filled, once in a run however many workers ask; `name` must identify
 * its contents. `prepare` closes its connections before it resolves; if it fails, the next caller tries
 * again.
 */
export function templateDatabase(name: string, prepare: (url: string) => Promise<void>): Promise<string> {
  const template = `${inject('postgresRun')}_tpl_${name}`;
  const known = templates.get(template);
  if (known !== undefined) return known;
  const making = makeOnce(template, prepare);
  templates.set(template, making);
  making.catch(() => templates.delete(template));
  return making;
}

/** While one worker makes a template, the others wait for its lock, each on its own connection. */
async function makeOnce(template: string, prepare: (url: string) => Promise<void>): Promise<string> {
  const waiting = new pg.Client({ connectionString: inject('postgresUrl') });
  await waiting.connect();
  try {
    await waiting.query('select pg_advisory_lock(hashtext($1))', [template]);
    const { rowCount } = await waiting.query('select from pg_database where datname = $1', [template]);
    if (rowCount !== 0) return template;
    const making = `${template}_making`;
    await drop(making);
    await waiting.query(`create database ${pg.escapeIdentifier(making)}`);
    await prepare(urlOf(making));
    const rename = `alter database ${pg.escapeIdentifier(making)} rename to ${pg.escapeIdentifier(template)}`;
    await whileInUse(() => waiting.query(rename));
    return template;
  } finally {
    await waiting.end();
  }
}

let admins: pg.Pool | undefined;

/** Kept open for all files of a worker: a connection costs more than the statements that it runs. */
function admin(): pg.Pool {
  if (admins !== undefined) return admins;
  admins = new pg.Pool({
    connectionString: inject('postgresUrl'),
    idleTimeoutMillis: 0,
    allowExitOnIdle: true,
  });
  // The server may end before the worker does.
  admins.on('error', () => undefined);
  return admins;
}

async function drop(name: string): Promise<void> {
  await admin().query(`drop database if exists ${pg.escapeIdentifier(name)} with (force)`);
}

/** A client that ended a moment ago may still be listed as connected. */
async function whileInUse(work: () => Promise<unknown>): Promise<void> {
  const deadline = performance.now() + CLONE_PATIENCE_MS;
  for (;;) {
    try {
      await work();
      return;
    } catch (error) {
      const inUse = error instanceof pg.DatabaseError && error.code === IN_USE;
      if (!inUse || performance.now() > deadline) throw error;
      await delay(50);
    }
  }
}

function urlOf(database: string): string {
  const url = new URL(inject('postgresUrl'));
  url.pathname = `/${database}`;
  return url.href;
}
