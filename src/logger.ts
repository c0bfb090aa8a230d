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
      ? pretty({ destination: destination ?? 2, ignore: 'pid,hostname', sync: true })
      : (destination ?? pino.destination(2));
  return pino({ level, redact: REDACTED, base: null, timestamp: pino.stdTimeFunctions.isoTime }, sink);
}
