import type { ServerResponse } from 'node:http';
import type { Clock } from '../../clock.ts';
import type { Answer } from './answer.ts';
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

/** Sends an answer, as far as the line's faults let it; true where the connection was cut. */
export async function send(response: ServerResponse, answer: Answer, line: Line): Promise<boolean> {
  if (happens(line, 'reset')) return cut(response);
  const body = typeof answer.body === 'string' ? Buffer.from(answer.body) : answer.body;
  const whole = { ...answer.headers, 'content-length': String(body.length) };
  if (happens(line, 'resetInBody')) {
    response.writeHead(answer.status, whole);
    await write(response, body.subarray(0, Math.floor(body.length / 2)));
    return cut(response);
  }
  if (happens(line, 'truncatedJson')) {
    const part = body.subarray(0, Math.floor(body.length * (0.2 + 0.7 * line.random.fraction())));
    response.writeHead(answer.status, { ...answer.headers, 'content-length': String(part.length) });
    response.end(part);
    return false;
  }
  response.writeHead(answer.status, whole);
  if (happens(line, 'slowBody')) await trickle(response, body, line);
  else response.end(body);
  return false;
}

type LineFault = 'reset' | 'resetInBody' | 'truncatedJson' | 'slowBody';

function happens({ faults, random, stats }: Line, name: LineFault): boolean {
  const happened = random.chance(faults[name] ?? 0);
  if (happened) stats.injected(name);
  return happened;
}

function cut(response: ServerResponse): boolean {
  if (response.socket === null) response.destroy();
  else response.socket.resetAndDestroy();
  return true;
}

function write(response: ServerResponse, part: Buffer): Promise<void> {
  return new Promise((resolve) => {
    response.write(part, () => {
      resolve();
    });
  });
}

async function trickle(
  response: ServerResponse,
  body: Buffer,
  { faults, clock, signal }: Line,
): Promise<void> {
  const size = Math.ceil(body.length / PIECES);
  for (let at = 0; at < body.length; at += size) {
    await clock.sleep((faults.slowBodyMs ?? 1000) / PIECES, signal);
    response.write(body.subarray(at, at + size));
  }
  response.end();
}
