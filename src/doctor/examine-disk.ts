import { statfs } from 'node:fs/promises';
import type { DoctorFinding } from './doctor-finding.ts';

/** Warns if free space falls below this multiple of `ETL_MIN_FREE`. */
const NEARLY = 1.5;

/**
 * Compares the free bytes of the embedded database's disk with `ETL_MIN_FREE`. The disk of another server cannot be
 * checked.
 */
export async function examineDisk(minFree: number, dataDir: string | undefined): Promise<DoctorFinding[]> {
  if (dataDir === undefined) return [];
  const { bavail, bsize } = await statfs(dataDir);
  const free = bavail * bsize;
  if (free >= NEARLY * minFree) return [];
  const gigabytes = (bytes: number) => `${(bytes / 1e9).toFixed(1)} GB`;
  return [
    {
      check: 'disk',
      what: `${gigabytes(free)} are free on the disk of ${dataDir}; a crawl pauses below ${gigabytes(minFree)} (ETL_MIN_FREE)`,
      remedy: 'Free some space, set ETL_DATA_DIR to a larger disk, or lower ETL_MIN_FREE.',
    },
  ];
}
