import { createHash, randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { openEmbedded } from '../../../src/embedded/embedded.ts';
import { startContainer } from './container.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** A superuser's connection string of the one server that all tests of this run share. */
    postgresUrl: string;
    /** The prefix of the names of all databases that this run creates. */
    postgresRun: string;
    /** The directory for the compiled program, which the first process that needs it creates. */
    compiledProgram: string;
  }
}

interface TestServer {
  readonly url: string;
  close(): Promise<void>;
}

/** Starts one Postgres for the whole run, and removes what the run created in it. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await openServer();
  const run = `t${randomBytes(4).toString('hex')}`;
  const admin = new pg.Client({ connectionString: server.url });
  await admin.connect();
  // Held for the whole run, so that other runs on the same server know that this one is alive.
  await admin.query('select pg_advisory_lock(hashtext($1))', [run]);
  await dropDatabases(admin, await deadRuns(admin));
  project.provide('postgresUrl', server.url);
  project.provide('postgresRun', run);
  const program = join(tmpdir(), `toncenter-etl-compiled-${run}`);
  project.provide('compiledProgram', program);
  return async () => {
    await rm(program, { recursive: true, force: true });
    await dropDatabases(admin, [run]);
    await admin.end();
    await server.close();
  };
}

/** `DATABASE_URL` if it is set, else a container if a Docker engine responds, else the embedded server. */
async function openServer(): Promise<TestServer> {
  const url = process.env['DATABASE_URL'];
  if (url !== undefined && url !== '') return { url, close: () => Promise.resolve() };
  return (await startContainer()) ?? openSharedEmbedded();
}

/**
 * Without fsync, and in a directory of this checkout and user: concurrent runs share the server, and a killed
 * one leaves it to the next.
 */
async function openSharedEmbedded(): Promise<TestServer> {
  const key = createHash('sha256')
    .update(`${import.meta.dirname}:${process.getuid?.() ?? ''}`)
    .digest('hex');
  return openEmbedded({
    dataDir: join(tmpdir(), `toncenter-etl-tests-${key.slice(0, 12)}`),
    settings: {
      fsync: 'off',
      synchronous_commit: 'off',
      full_page_writes: 'off',
      // What it would vacuum is dropped a minute later.
      autovacuum: 'off',
      shared_buffers: '128MB',
      max_connections: '200',
    },
  });
}

/** Runs that were killed before they could clean up: no process holds their lock. */
async function deadRuns(admin: pg.Client): Promise<string[]> {
  const { rows } = await admin.query<{ run: string }>(
    `select run from (select distinct substring(datname from '^(t[0-9a-f]{8})_') as run from pg_database) runs
     where run is not null and pg_try_advisory_lock(hashtext(run))`,
  );
  return rows.map(({ run }) => run);
}

async function dropDatabases(admin: pg.Client, runs: readonly string[]): Promise<void> {
  const { rows } = await admin.query<{ datname: string }>(
    `select datname from pg_database where substring(datname from '^(t[0-9a-f]{8})_') = any($1)`,
    [runs],
  );
  for (const { datname } of rows) {
    await admin.query(`drop database if exists ${pg.escapeIdentifier(datname)} with (force)`);
  }
}
