import { Writable } from 'node:stream';
import { pino, type DestinationStream, type Logger } from 'pino';
import pretty from 'pino-pretty';
import { openLines } from './terminal/log-lines.ts';
import { printable, terminal } from './terminal/terminal.ts';

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
export function createHeldLogger(options: Omit<LoggerOptions, 'destination'>): HeldLogger {
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

interface HeldLogger {
  readonly logger: Logger;
  readonly release: () => void;
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
