import { Writable } from 'node:stream';
import { pino, type DestinationStream, type Logger } from 'pino';
import pretty from 'pino-pretty';
import { printable, terminal } from './terminal/terminal.ts';

export type { Logger };

interface LoggerOptions {
  readonly level: string;
  /** `pretty` for people, `json` for machines. */
  readonly format: 'pretty' | 'json';
  readonly destination?: DestinationStream;
}

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
export function createLogger({ level, format, destination = standardError() }: LoggerOptions): Logger {
  const sink =
    format === 'pretty'
      ? pretty({
          destination,
          singleLine: true,
          ignore: 'pid,hostname',
          sync: true,
          colorize: process.stderr.isTTY && process.stderr.hasColors(),
        })
      : destination;
  const formatters = { log: printableFields };
  const timestamp = pino.stdTimeFunctions.isoTime;
  return pino({ level, redact: REDACTED, base: null, timestamp, formatters }, sink);
}

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
function standardError(): DestinationStream {
  if (process.stderr.isTTY) {
    return new Writable({
      decodeStrings: false,
      write(line: string, _encoding, done) {
        terminal.write(line);
        done();
      },
    });
  }
  return pino.destination({ dest: 2, sync: true }).on('error', () => undefined);
}
