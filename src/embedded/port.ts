import { createHash } from 'node:crypto';
import { createServer } from 'node:net';
import { DatabaseUnavailableError } from '../errors.ts';

/** Below the range that systems use for outgoing connections. */
const FIRST_PORT = 20_000;
const PORTS = 10_000;
const ATTEMPTS = 50;

/** The first port to try for a directory: always the same, and different for each directory. */
export function usualPort(directory: string): number {
  return FIRST_PORT + (createHash('sha256').update(directory).digest().readUInt32BE(0) % PORTS);
}

/**
 * The first free port of 127.0.0.1 at or after `preferred`, without those in `taken`. If another program takes it
 * first, the caller adds it to `taken` and asks again.
 */
export async function freePort(preferred: number, taken: ReadonlySet<number>): Promise<number> {
  for (let port = preferred; port < preferred + ATTEMPTS && port < 65_536; port++) {
    if (!taken.has(port) && (await isFree(port))) return port;
  }
  throw new DatabaseUnavailableError(`no port from ${preferred} on is free for the embedded Postgres`, {
    hint: 'Stop what listens there, or try again.',
  });
}

/** True if this port of 127.0.0.1 is free now. */
export async function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}
