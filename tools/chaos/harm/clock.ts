import { readFileSync } from 'node:fs';

/** The environment variable of a worker that names the file with the error of its clock, in milliseconds. */
export const CLOCK_FILE = 'CHAOS_CLOCK_FILE';
const LOOK_MS = 200;

/**
 * A process that imports this file has a wall clock that the harness steps, as if the clock of one host were
 * set. Its monotonic time, its timers and the database's clock do not change.
 */
let stepMs = 0;
const path = process.env[CLOCK_FILE];
const { now } = Date;
Date.now = () => now() + stepMs;
if (path !== undefined)
  setInterval(() => {
    try {
      stepMs = Number(readFileSync(path, 'utf8'));
    } catch {
      // Not stepped yet.
    }
  }, LOOK_MS).unref();
