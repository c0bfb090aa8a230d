import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Clock } from '../../clock.ts';
import type { HttpResponse } from './response.ts';
import type { Faults } from '../faults.ts';
import type { Random } from '../random.ts';
import type { Stats } from './stats.ts';

interface Line {
  readonly faults: Faults;
  readonly random: Random;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly stats: Stats;
}

const PIECES = 10;

/** Sends a response, as far as the line's faults let it; true where the connection was cut. */
export async function send(outgoing: ServerResponse, response: HttpResponse, line: Line): Promise<boolean> {
  if (happens(line, 'reset')) return cut(outgoing);
  const body = typeof response.body === 'string' ? Buffer.from(response.body) : response.body;
  const whole = { ...response.headers, 'content-length': String(body.length) };
  if (happens(line, 'resetInBody')) {
    outgoing.writeHead(response.status, whole);
    await write(outgoing, body.subarray(0, Math.floor(body.length / 2)));
    return cut(outgoing);
  }
  if (happens(line, 'silentBody')) {
    outgoing.writeHead(response.status, whole);
    outgoing.write(body.subarray(0, Math.floor(body.length / 2)));
    await once(outgoing, 'close');
    return true;
  }
  if (happens(line, 'truncatedJson')) {
    const part = body.subarray(0, Math.floor(body.length * (0.2 + 0.7 * line.random.fraction())));
    outgoing.writeHead(response.status, { ...response.headers, 'content-length': String(part.length) });
    outgoing.end(part);
    return false;
  }
  outgoing.writeHead(response.status, whole);
  if (happens(line, 'slowBody')) await trickle(outgoing, body, line);
  else outgoing.end(body);
  return false;
}

type LineFault = 'reset' | 'resetInBody' | 'silentBody' | 'truncatedJson' | 'slowBody';

function happens({ faults, random, stats }: Line, name: LineFault): boolean {
  const happened = random.chance(faults[name] ?? 0);
  if (happened) stats.injected(name);
  return happened;
}

function cut(outgoing: ServerResponse): boolean {
  if (outgoing.socket === null) outgoing.destroy();
  else outgoing.socket.resetAndDestroy();
  return true;
}

function write(outgoing: ServerResponse, part: Buffer): Promise<void> {
  return new Promise((resolve) => {
    outgoing.write(part, () => {
      resolve();
    });
  });
}

async function trickle(
  outgoing: ServerResponse,
  body: Buffer,
  { faults, clock, signal }: Line,
): Promise<void> {
  const size = Math.ceil(body.length / PIECES);
  for (let at = 0; at < body.length; at += size) {
    await clock.sleep((faults.slowBodyMs ?? 1000) / PIECES, signal);
    outgoing.write(body.subarray(at, at + size));
  }
  outgoing.end();
}
