import { Writable } from 'node:stream';
import { writeSync } from 'node:fs';
import { pino, type DestinationStream, type Logger } from 'pino';
import pretty from 'pino-pretty';
import { printable, terminal } from './terminal/terminal.ts';
import { codeOf } from './errors.ts';

export type { Logger };

interface LoggerOptions {
  readonly level: string;
  /** `pretty` for people, `json` for machines. */
  readonly format: 'pretty' | 'json';
  readonly destination?: DestinationStream;
}

const STDERR = 2;

/** Paths at which a logged object could contain a key. Keys are only sent in a header; this is a second safeguard. */
const REDACTED = [
  'apiKey',
  '*.apiKey',
  'headers["x-api-key"]',
  '*.headers["x-api-key"]',
  'password',
  '*.password',
];

/** Logs go to stderr, because stdout is for results. */
export function createLogger({ level, format, destination }: LoggerOptions): Logger {
  const onDropped = (lines: number) =>
    logger.warn({ lines }, 'log lines dropped: the reader of stderr is too slow');
  const written = destination ?? standardError(onDropped);
  const sink =
    format === 'pretty'
      ? pretty({
          destination: written,
          singleLine: true,
          ignore: 'pid,hostname',
          sync: true,
          colorize: process.stderr.isTTY && process.stderr.hasColors(),
        })
      : written;
  const formatters = { log: printableFields };
  const timestamp = pino.stdTimeFunctions.isoTime;
  const logger = pino({ level, redact: REDACTED, base: null, timestamp, formatters }, sink);
  return logger;
}

/** A log that is only written if it is released, so that a successful run prints nothing. The newest lines are kept. */
export function createHeldLogger(options: Omit<LoggerOptions, 'destination'>): {
  readonly logger: Logger;
  readonly release: () => void;
} {
  const lines: string[] = [];
  let isReleased = false;
  const destination = standardError(() => undefined);
  const write = (line: string) => {
    if (isReleased) destination.write(line);
    else if (lines.push(line) > MOST_HELD) lines.shift();
  };
  const release = () => {
    isReleased = true;
    for (const line of lines.splice(0)) destination.write(line);
  };
  return { logger: createLogger({ ...options, destination: { write } }), release };
}

const MOST_HELD = 1000;

/** Removes control characters from texts of a server, which a terminal would obey. */
function printableFields(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      typeof value === 'string' ? printable(value) : value,
    ]),
  );
}

/**
 * Writes to stderr. On a terminal, its single writer keeps progress below the log. A log that cannot be
 * written does not end the process.
 */
function standardError(onDropped: (lines: number) => void): DestinationStream {
  // Reading `process.stderr` makes a pipe non-blocking, which `openLines` expects.
  const lines = process.stderr.isTTY ? terminal : openLines(STDERR, onDropped);
  return new Writable({
    decodeStrings: false,
    write(line: string, _encoding, done) {
      lines.write(line);
      done();
    },
  });
}

/** Maximum bytes that are buffered for a slow reader. Further lines are dropped. */
const MOST_WAITING = 2 ** 20;
/** Milliseconds between two attempts to write the buffer. */
const RETRY_MS = 100;
/** At exit: milliseconds to wait for a reader that takes nothing. */
const EXIT_TIMEOUT_MS = 5000;

/**
 * Writes synchronously, so that a process that ends has written everything. If the file is non-blocking, a stopped
 * reader does not stop the process: lines are buffered. `onDropped` receives the number of dropped lines, when there
 * is room again. After any other error, the next line tries again.
 */
function openLines(fd: number, onDropped: (lines: number) => void): { write(line: string): void } {
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
