import { statfs } from 'node:fs/promises';
import type { Clock } from '../clock.ts';
import type { Logger } from '../logger.ts';

/** How often the file system is asked, in milliseconds. */
const EVERY = 5000;

/** Lets a page be read only while the disk has room for it. */
export interface DiskGuard {
  /** Resolves at once while there is room; otherwise says so, and resolves when there is. Rejects when aborted. */
  wait(signal: AbortSignal): Promise<void>;
  /** True while something waits for room. */
  readonly isFull: boolean;
  /** Bytes that are free, and how many must be; undefined of somebody else's disk. */
  room(): Promise<{ readonly free: number; readonly minFree: number } | undefined>;
}

/** For a database on somebody else's disk. */
export const noDiskGuard: DiskGuard = {
  wait: () => Promise.resolve(),
  isFull: false,
  room: () => Promise.resolve(undefined),
};

/** Guards the file system of `directory`: below `minFree` bytes nothing more is read. */
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
            'paused: the disk is nearly full; free some space or lower ETL_MIN_FREE',
          );
        isLogged = true;
        waiting += 1;
        await clock.sleep(EVERY, signal).finally(() => (waiting -= 1));
      }
      if (isLogged) logger.info({ directory }, 'the disk has room again');
      checked = clock.monotonic();
    },
  };
}
