import { readFileSync } from 'node:fs';

/** Names the file, in a worker's environment, that holds by how many milliseconds its clock is wrong. */
export const CLOCK_FILE = 'CHAOS_CLOCK_FILE';
const LOOK_MS = 200;

/**
 * A process that imports this file has a wall clock that the harness steps. It is that of one process: time that never runs
 * backwards, timers and the database's clock go on, as if the clock of one host were set.
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
