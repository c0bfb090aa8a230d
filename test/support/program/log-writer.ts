import { writeSync } from 'node:fs';
import { createLogger } from '../../../src/logger.ts';

/**
 * Logs lines without a pause, and ends: `log-writer.js <json|pretty> <lines> <how>`. It prints `logged` on
 * stdout, and `leaving` when it ends. How: `exit`, `throw`, `return`, or `wait` for a line of stdin and log
 * one more.
 */
const [format, lines = '', how = ''] = process.argv.slice(2);
const PADDING = 'x'.repeat(100);

process.once('exit', () => writeSync(1, 'leaving\n'));
const logger = createLogger({ level: 'info', format: format === 'pretty' ? 'pretty' : 'json' });
for (let line = 0; line < Number(lines); line += 1) logger.info({ seqno: line, reason: PADDING }, 'a line');
writeSync(1, 'logged\n');

if (how === 'exit') process.exit(3);
if (how === 'throw') throw new Error('an unexpected error');
if (how === 'wait')
  process.stdin.once('data', () => {
    logger.info({ seqno: Number(lines) }, 'the last line');
    process.stdin.destroy();
  });
