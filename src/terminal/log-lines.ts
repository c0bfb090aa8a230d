import { writeSync } from 'node:fs';
import { codeOf } from '../errors.ts';

/** Bytes that wait at most for a reader that takes none. Lines that come then are dropped. */
const MOST_WAITING = 2 ** 20;
/** Milliseconds until what waits is tried again. */
const RETRY_MS = 100;
/** Milliseconds that the end of the process waits for a reader that takes nothing. */
const PATIENCE_MS = 5000;

/** Writes whole lines, one behind the other. */
interface Lines {
  write(line: string): void;
}

/**
 * Writes at once, so that a process that ends has written what it said. A reader that stands still stops nobody, where
 * the file does not block: what it does not take waits in memory. `onDropped` hears how many lines found no room, once
 * there is some again. What cannot be written for another reason is tried again with the next line.
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
  /** False where there is no room for it. */
  add(line: string): boolean;
  /** False where the reader takes no more now. */
  drain(): boolean;
  /** Bytes that wait. */
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

/** At the end of a process nothing else is left to do: a reader that is only slow gets everything. */
function drainAtEnd(queue: Queue): void {
  const bell = new Int32Array(new SharedArrayBuffer(4));
  let [left, patientUntil] = [queue.bytes, performance.now() + PATIENCE_MS];
  while (!queue.drain() && performance.now() < patientUntil) {
    if (queue.bytes < left) [left, patientUntil] = [queue.bytes, performance.now() + PATIENCE_MS];
    Atomics.wait(bell, 0, 0, 10);
  }
}
