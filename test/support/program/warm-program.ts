import { randomBytes } from 'node:crypto';
import type { ChildProcess } from 'node:child_process';
import type { Readable } from 'node:stream';
import { nextMessage } from '../messages.ts';

/** A command for the process of `host.ts`. */
export interface Order {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Ends what the command prints, on stdout and on stderr. */
  readonly mark: string;
}

interface Printed {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A process that has loaded the program, and runs commands in the order in which they come. */
export interface WarmProgram {
  run(order: Omit<Order, 'mark'>): Promise<Printed>;
}

export function openWarmProgram(start: () => ChildProcess): WarmProgram {
  let host: ChildProcess | undefined;
  let last: Promise<unknown> = Promise.resolve();
  return {
    run(order) {
      const next = last.then(() => runIn((host ??= start()), order));
      last = next.catch(() => undefined);
      return next;
    },
  };
}

async function runIn(host: ChildProcess, order: Omit<Order, 'mark'>): Promise<Printed> {
  const { stdout, stderr } = host;
  if (stdout === null || stderr === null) throw new Error('pipes are missing');
  const mark = `\u{0}${randomBytes(8).toString('hex')}`;
  const ended = Promise.all([nextMessage(host), textUntil(stdout, mark), textUntil(stderr, mark)]);
  host.send({ ...order, mark });
  const [code, out, error] = await ended;
  return { code: Number(code), stdout: out, stderr: error };
}

function textUntil(stream: Readable, mark: string): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    const take = (part: string) => {
      text += part;
      if (!text.endsWith(mark)) return;
      stream.off('data', take);
      resolve(text.slice(0, -mark.length));
    };
    stream.setEncoding('utf8').on('data', take);
  });
}
