import { createLogger, type Logger } from '../../../src/logger.ts';

/** A logger whose records can be read. */
export function keptLog(level = 'warn'): { logger: Logger; records: Record<string, unknown>[] } {
  const records: Record<string, unknown>[] = [];
  const destination = {
    write: (line: string) => void records.push(JSON.parse(line) as Record<string, unknown>),
  };
  return { logger: createLogger({ level, format: 'json', destination }), records };
}
