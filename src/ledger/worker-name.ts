import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { codeOf } from '../errors.ts';

/** A process writes a heartbeat every five seconds. If it is silent for longer than this, it counts as ended. */
export const SILENT_SECONDS = 20;

/** Host, process and a random part: identifies a process in leases, pages and the budget. */
export function nameOfProcess(): string {
  return `${hostname()}/${process.pid}/${randomBytes(3).toString('hex')}`;
}

/**
 * True if the name is that of a process of this host that has ended. A process of another host counts as alive, and so
 * does one whose pid is in use again. Two containers with one host name may each consider the other dead: then work is
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
