import { existsSync } from 'node:fs';
import { request } from 'node:http';
import { homedir } from 'node:os';
import { join } from 'node:path';

const PROBE_MS = 2_000;
const IMAGE = 'postgres:18-alpine';
const PASSWORD = 'test';

/** A Postgres in a container; undefined if no Docker engine responds or if it cannot get the image. */
export async function startContainer(): Promise<{ url: string; close(): Promise<void> } | undefined> {
  if (!(await engineResponses())) return undefined;
  try {
    // Loaded only here: it takes a second.
    const { GenericContainer, Wait } = await import('testcontainers');
    const container = await new GenericContainer(IMAGE)
      .withEnvironment({ POSTGRES_PASSWORD: PASSWORD })
      .withCommand([
        'postgres',
        '-c',
        'fsync=off',
        '-c',
        'max_connections=200',
        '-c',
        'max_locks_per_transaction=1024',
      ])
      .withExposedPorts(5432)
      // Once while it makes its data directory, once when it is really there.
      .withWaitStrategy(Wait.forLogMessage(/database system is ready to accept connections/, 2))
      .start();
    return {
      url: `postgres://postgres:${PASSWORD}@${container.getHost()}:${container.getMappedPort(5432)}/postgres`,
      close: async () => {
        await container.stop();
      },
    };
  } catch (error) {
    console.warn(`The tests use the embedded Postgres: no container could be started (${String(error)})`);
    return undefined;
  }
}

/** Asks the engine itself, with a short timeout: an installed `docker` command says nothing about an engine. */
async function engineResponses(): Promise<boolean> {
  for (const target of engines()) if (await ping(target)) return true;
  return false;
}

type Engine = { socketPath: string } | { host: string; port: string };

function engines(): Engine[] {
  const host = process.env['DOCKER_HOST'];
  if (host !== undefined && host !== '') {
    const url = new URL(host);
    if (url.protocol === 'unix:') return [{ socketPath: url.pathname }];
    return url.protocol === 'tcp:' || url.protocol === 'http:'
      ? [{ host: url.hostname, port: url.port }]
      : [];
  }
  const runtime = process.env['XDG_RUNTIME_DIR'];
  return [
    '/var/run/docker.sock',
    ...(runtime === undefined ? [] : [join(runtime, 'docker.sock')]),
    join(homedir(), '.docker', 'run', 'docker.sock'),
  ]
    .filter((path) => existsSync(path))
    .map((socketPath) => ({ socketPath }));
}

function ping(engine: Engine): Promise<boolean> {
  return new Promise((resolve) => {
    const asking = request({ ...engine, path: '/_ping', timeout: PROBE_MS }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    asking.once('timeout', () => asking.destroy());
    asking.once('error', () => resolve(false));
    asking.end();
  });
}
