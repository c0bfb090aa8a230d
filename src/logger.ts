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

/** Where a key could stand in a logged object. Keys travel in a header only; this is the second lock. */
const REDACTED = [
  'apiKey',
  '*.apiKey',
  'headers["x-api-key"]',
  '*.headers["x-api-key"]',
  'password',
  '*.password',
];

/** Logs go to stderr, so that stdout carries results alone. */
export function createLogger({ level, format, destination }: LoggerOptions): Logger {
  const onDropped = (lines: number) =>
    logger.warn({ lines }, 'lines of the log were dropped, which nobody took; look at what reads it');
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

/** A log that is written only if it is released, so that a run that succeeds says nothing. The newest lines are kept. */
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

/** What a server said may hold what a terminal would obey. */
function printableFields(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      typeof value === 'string' ? printable(value) : value,
    ]),
  );
}

/** On a terminal by its one writer, so that progress stands below. A log that cannot be written ends nobody. */
function standardError(onDropped: (lines: number) => void): DestinationStream {
  // Whoever asks for `process.stderr` makes its pipe one that does not block.
  const lines = process.stderr.isTTY ? terminal : openLines(STDERR, onDropped);
  return new Writable({
    decodeStrings: false,
    write(line: string, _encoding, done) {
      lines.write(line);
      done();
    },
  });
}
