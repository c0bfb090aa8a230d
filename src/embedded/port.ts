import { createHash } from 'node:crypto';
import { createServer } from 'node:net';
import { DatabaseUnavailableError } from '../errors.ts';

/** Below the ranges from which systems take ports for outgoing connections. */
const FIRST_PORT = 20_000;
const PORTS = 10_000;
const ATTEMPTS = 50;

/** The port that a directory begins with: the same each time, another for each directory. */
export function usualPort(directory: string): number {
  return FIRST_PORT + (createHash('sha256').update(directory).digest().readUInt32BE(0) % PORTS);
}

/**
 * The first port at or after `preferred` on which a server could listen on 127.0.0.1, passing over `taken`. It can be
 * gone a moment later: the caller adds it to `taken` and asks again.
 */
export async function freePort(preferred: number, taken: ReadonlySet<number>): Promise<number> {
  for (let port = preferred; port < preferred + ATTEMPTS && port < 65_536; port++) {
    if (!taken.has(port) && (await isFree(port))) return port;
  }
  throw new DatabaseUnavailableError(`no port from ${preferred} on is free for the embedded Postgres`, {
    hint: 'Stop what listens there, or try again.',
  });
}

/** Whether one could listen on this port of 127.0.0.1 now. */
export async function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}
