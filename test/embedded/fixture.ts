import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { openEmbedded, type EmbeddedOptions, type EmbeddedServer } from '../../src/embedded/embedded.ts';
import { runCommand, type Account } from '../../src/embedded/server-account.ts';
import type { EtlError } from '../../src/errors.ts';
import { query } from '../support/database/query.ts';
import { compile } from '../support/program/compile.ts';

interface Line {
  readonly url: string;
  readonly port: number;
  readonly dataDir: string;
  readonly error?: { readonly name: string; readonly message: string; readonly hint: string };
}

/** The directories, handles and processes of one test file; it leaves none of them behind. */
export function embeddedFixture() {
  let program: string;
  let scratch: string;
  let nextName = 0;
  let open: EmbeddedServer[] = [];
  let children: ChildProcess[] = [];

  beforeAll(async () => {
    program = await compile();
    scratch = await mkdtemp(join(tmpdir(), 'toncenter-etl-embedded-'));
    // Open to every user, as /srv or /var/lib are.
    await chmod(scratch, 0o755);
  });
  afterEach(async () => {
    for (const child of children) child.kill('SIGKILL');
    children = [];
    const handles = open;
    open = [];
    await Promise.all(handles.map((server) => server.close()));
  });
  afterAll(async () => {
    await rm(scratch, { recursive: true, force: true });
  });

  /** A process that is killed at the test's end at the latest. */
  function run(file: string, args: readonly string[], account?: Account) {
    const child = spawn(file, args, { stdio: ['pipe', 'pipe', 'inherit'], cwd: '/', ...account });
    children.push(child);
    return child;
  }

  /** A name that does not exist yet. */
  function directory(name = 'data'): string {
    return join(scratch, `${name}-${nextName++}`);
  }

  let made: Promise<string> | undefined;

  async function makeDatabase(): Promise<string> {
    const server = await openEmbedded({ dataDir: directory('made') });
    await addRows(server.url);
    await server.close();
    return server.dataDir;
  }

  return {
    run,
    directory,
    /** A directory with a database from an earlier run, 1000 rows in its table `kept`, and no server. */
    async database(): Promise<string> {
      const copy = directory();
      await runCommand('cp', ['-a', await (made ??= makeDatabase()), copy]);
      return copy;
    },
    async openHere(options: EmbeddedOptions): Promise<EmbeddedServer> {
      const server = await openEmbedded(options);
      open.push(server);
      return server;
    },
    /** Opens the same server in another process. */
    openThere(options: EmbeddedOptions, account?: Account) {
      const script = join(program, 'test', 'embedded', 'child.js');
      const child = run(process.execPath, [script, JSON.stringify(options)], account);
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
      const read = async () => JSON.parse(String((await lines.next()).value)) as unknown;
      const ended = once(child, 'exit');
      return {
        opened: async () => (await read()) as Line,
        order: async (order: 'close' | 'forget') => {
          child.stdin.write(`${order}\n`);
          await read();
          await ended;
        },
        kill: async () => {
          child.kill('SIGKILL');
          await ended;
        },
      };
    },
  };
}

/** Commits 1000 rows. */
export async function addRows(url: string): Promise<void> {
  await query(url, 'create table if not exists kept (i int)');
  await query(url, 'insert into kept select generate_series(1, 1000)');
}

export async function keptRows(url: string): Promise<unknown> {
  const [row] = await query(url, 'select count(*)::int as n from kept');
  return row?.['n'];
}

export function postmasterOf(dataDir: string): number {
  return Number(readFileSync(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0]);
}

export function hasServer(dataDir: string): boolean {
  return existsSync(join(dataDir, 'postgres', 'postmaster.pid'));
}

export async function errorOf(work: Promise<unknown>): Promise<EtlError> {
  return work.then(
    () => expect.fail('it did not fail'),
    (error: unknown) => error as EtlError,
  );
}
