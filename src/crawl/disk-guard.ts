import { statfs } from 'node:fs/promises';
import type { Clock } from '../clock.ts';
import type { Logger } from '../logger.ts';

/** Milliseconds between two checks of the file system. */
const EVERY = 5000;

/** Lets a page be read only while the disk has room for it. */
export interface DiskGuard {
  /**
   * Resolves at once if there is room. Otherwise it logs a warning and resolves when there is. Rejects when aborted.
   */
  wait(signal: AbortSignal): Promise<void>;
  /** True while a reader waits for room. */
  readonly isFull: boolean;
  /** Free bytes, and how many must be free; undefined if the disk belongs to another server. */
  room(): Promise<{ readonly free: number; readonly minFree: number } | undefined>;
}

/** Used if the database is on another server's disk. */
export const noDiskGuard: DiskGuard = {
  wait: () => Promise.resolve(),
  isFull: false,
  room: () => Promise.resolve(undefined),
};

/** Guards the file system of `directory`: nothing is read while fewer than `minFree` bytes are free. */
export function createDiskGuard(directory: string, minFree: number, clock: Clock, logger: Logger): DiskGuard {
  let checked = -Infinity;
  const free = async () => {
    const { bavail, bsize } = await statfs(directory);
    return bavail * bsize;
  };
  let waiting = 0;
  return {
    get isFull() {
      return waiting > 0;
    },
    room: async () => ({ free: await free(), minFree }),
    async wait(signal) {
      if (clock.monotonic() - checked < EVERY) return;
      let isLogged = false;
      for (let left = await free(); left < minFree; left = await free()) {
        if (!isLogged)
          logger.warn(
            { directory, free: left, minFree },
            'disk nearly full, crawl paused; free some space or lower ETL_MIN_FREE',
          );
        isLogged = true;
        waiting += 1;
        await clock.sleep(EVERY, signal).finally(() => (waiting -= 1));
      }
      if (isLogged) logger.info({ directory }, 'disk has room again, crawl resumed');
      checked = clock.monotonic();
    },
  };
}
