import { Writable } from 'node:stream';
import { pino, type DestinationStream, type Logger } from 'pino';
import pretty from 'pino-pretty';

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
export function createLogger({ level, format, destination }: LoggerOptions): Logger {
  const sink =
    format === 'pretty'
      ? pretty({
          destination: destination ?? (process.stderr.isTTY ? terminal() : 2),
          singleLine: true,
          ignore: 'pid,hostname',
          sync: true,
        })
      : (destination ?? pino.destination(2));
  return pino({ level, redact: REDACTED, base: null, timestamp: pino.stdTimeFunctions.isoTime }, sink);
}

/** The terminal, a line at a time: a progress bar that stands in the line makes room and is drawn again below. */
function terminal(): Writable {
  return new Writable({
    decodeStrings: false,
    write(line: string, _encoding, done) {
      process.stderr.write(`\r\u001B[K${line}`, () => done());
    },
  });
}
