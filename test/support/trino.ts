import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, open, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import * as z from 'zod';
import { freePort } from './free-port.ts';

/** One server that is all of Trino, for lakes below a folder. docs/lake.md has the same for its readers. */
const FILES = (directory: string, port: number): Readonly<Record<string, string>> => ({
  'node.properties': `node.environment=lake
node.id=one
node.data-dir=${directory}/data
node.internal-address=127.0.0.1
node.bind-ip=127.0.0.1`,
  'jvm.config': '-Xmx1200m\n-XX:+UseSerialGC',
  'config.properties': `coordinator=true
node-scheduler.include-coordinator=true
http-server.http.port=${port}
discovery.uri=http://127.0.0.1:${port}
query.max-memory-per-node=300MB
memory.heap-headroom-per-node=300MB`,
  'catalog/delta.properties': `connector.name=delta_lake
hive.metastore=file
hive.metastore.catalog.dir=local:///metastore
fs.native-local.enabled=true
local.location=${directory}/root
delta.register-table-procedure.enabled=true`,
});

const Value = z.union([z.string(), z.number(), z.boolean(), z.null()]);
const Page = z.object({
  nextUri: z.string().optional(),
  data: z.array(z.array(Value)).optional(),
  error: z.object({ message: z.string() }).optional(),
});

export interface TrinoAnswer {
  readonly rows: z.infer<typeof Value>[][];
  readonly failure?: string;
}

export interface Trino {
  /** The directory that the catalog calls `local:///`. */
  readonly root: string;
  ask(statement: string): Promise<TrinoAnswer>;
  close(): Promise<void>;
}

/** A server of the Trino that is unpacked at `home`, with the Java of `JAVA_HOME` or of the path. */
export async function openTrino(home: string, directory: string): Promise<Trino> {
  const port = await freePort();
  const root = join(directory, 'root');
  await mkdir(join(directory, 'etc/catalog'), { recursive: true });
  await mkdir(root);
  for (const [name, text] of Object.entries(FILES(directory, port)))
    await writeFile(join(directory, 'etc', name), `${text}\n`);
  const log = await open(join(directory, 'log'), 'w');
  const server = spawn(join(home, 'bin/launcher'), ['run', '--etc-dir', join(directory, 'etc')], {
    stdio: ['ignore', log.fd, log.fd],
  });
  const ended = once(server, 'exit');
  const url = `http://127.0.0.1:${port}`;
  for (let ready = false; !ready; ready = await isReady(url)) {
    if (server.exitCode !== null)
      throw new Error(`Trino has ended: ${await readFile(join(directory, 'log'), 'utf8')}`);
    await delay(500);
  }
  return {
    root,
    ask: (statement) => ask(url, statement),
    async close() {
      server.kill();
      await ended;
      await log.close();
    },
  };
}

async function isReady(url: string): Promise<boolean> {
  const answer = await fetch(`${url}/v1/info`).catch(() => undefined);
  if (answer?.ok !== true) return false;
  return !z.object({ starting: z.boolean() }).parse(await answer.json()).starting;
}

const HEADERS = {
  'X-Trino-User': 'test',
  'X-Trino-Catalog': 'delta',
  'X-Trino-Schema': 'ton',
  'X-Trino-Time-Zone': 'UTC',
};

async function ask(url: string, statement: string): Promise<TrinoAnswer> {
  const rows: TrinoAnswer['rows'] = [];
  const first = await fetch(`${url}/v1/statement`, { method: 'POST', headers: HEADERS, body: statement });
  let page = Page.parse(await first.json());
  for (;;) {
    rows.push(...(page.data ?? []));
    if (page.error !== undefined) return { rows: [], failure: page.error.message };
    if (page.nextUri === undefined) return { rows };
    page = Page.parse(await (await fetch(page.nextUri, { headers: HEADERS })).json());
  }
}
