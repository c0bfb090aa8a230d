import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { codeOf } from '../errors.ts';

/** Every process reports every five seconds that it lives: one that is silent for so long has ended, or cannot write. */
export const SILENT_SECONDS = 20;

/** Host, process and a random part: who holds a lease, wrote a page, spent the budget. */
export function nameOfProcess(): string {
  return `${hostname()}/${process.pid}/${randomBytes(3).toString('hex')}`;
}

/**
 * True where the name is that of a process of this host that has ended. A process of another host, or one whose number
 * somebody else has now, counts as alive. Two containers with one host name may take each other for dead: then work is
 * done twice, never lost.
 */
export function hasEnded(name: string): boolean {
  const [host, pid] = name.split('/');
  if (host !== hostname() || pid === undefined || !/^\d+$/.test(pid)) return false;
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    return codeOf(error) === 'ESRCH';
  }
}
