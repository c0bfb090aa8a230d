import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';

/** The next message of a process; rejects if the process ends without one. */
export async function nextMessage(process: ChildProcess): Promise<unknown> {
  const waiting = new AbortController();
  const ended = once(process, 'exit', { signal: waiting.signal }).then(([code]) => {
    throw new Error(`the process ended with ${String(code)}`);
  });
  try {
    const [message] = (await Promise.race([once(process, 'message'), ended])) as [unknown];
    return message;
  } finally {
    ended.catch(() => undefined);
    waiting.abort();
  }
}
