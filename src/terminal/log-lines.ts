import { writeSync } from 'node:fs';
import { codeOf } from '../errors.ts';

/** Maximum bytes that are buffered for a slow reader. Further lines are dropped. */
const MOST_WAITING = 2 ** 20;
/** Milliseconds between two attempts to write the buffer. */
const RETRY_MS = 100;
/** At exit: milliseconds to wait for a reader that takes nothing. */
const EXIT_TIMEOUT_MS = 5000;

/** Writes whole lines in order. */
interface Lines {
  write(line: string): void;
}

/**
 * Writes synchronously, so that a process that ends has written everything. If the file is non-blocking, a stopped
 * reader does not stop the process: lines are buffered. `onDropped` receives the number of dropped lines, when there
 * is room again. After any other error, the next line tries again.
 */
export function openLines(fd: number, onDropped: (lines: number) => void): Lines {
  const queue = openQueue(fd);
  let dropped = 0;
  let retry: NodeJS.Timeout | undefined;
  const onExit = () => drainAtEnd(queue);
  const tell = () => {
    const lines = dropped;
    dropped = 0;
    if (lines > 0) onDropped(lines);
  };
  const tryLater = () => {
    if (retry === undefined) process.on('exit', onExit);
    retry = setTimeout(() => {
      if (!queue.drain()) {
        tryLater();
        return;
      }
      retry = undefined;
      process.off('exit', onExit);
      tell();
    }, RETRY_MS).unref();
  };
  return {
    write(line) {
      if (!queue.add(line)) dropped += 1;
      if (retry === undefined && !queue.drain()) tryLater();
    },
  };
}

interface Queue {
  /** Returns false if there is no room. */
  add(line: string): boolean;
  /** Returns false if the reader takes no more now. */
  drain(): boolean;
  /** Buffered bytes. */
  readonly bytes: number;
}

function openQueue(fd: number): Queue {
  const waiting: Buffer[] = [];
  let bytes = 0;
  return {
    get bytes() {
      return bytes;
    },
    add(line) {
      const text = Buffer.from(line);
      if (bytes + text.length > MOST_WAITING) return false;
      waiting.push(text);
      bytes += text.length;
      return true;
    },
    drain() {
      try {
        while (waiting[0] !== undefined) {
          const taken = writeSync(fd, waiting[0]);
          bytes -= taken;
          if (taken < waiting[0].length) waiting[0] = waiting[0].subarray(taken);
          else waiting.shift();
        }
        return true;
      } catch (error) {
        return codeOf(error) !== 'EAGAIN';
      }
    },
  };
}

/** At exit it waits for a reader that is only slow, so that everything is written. */
function drainAtEnd(queue: Queue): void {
  const bell = new Int32Array(new SharedArrayBuffer(4));
  let [left, patientUntil] = [queue.bytes, performance.now() + EXIT_TIMEOUT_MS];
  while (!queue.drain() && performance.now() < patientUntil) {
    if (queue.bytes < left) [left, patientUntil] = [queue.bytes, performance.now() + EXIT_TIMEOUT_MS];
    Atomics.wait(bell, 0, 0, 10);
  }
}
