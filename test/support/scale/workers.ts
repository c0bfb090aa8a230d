import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { compile } from '../program/compile.ts';
import { nextMessage } from '../messages.ts';
import type { WorkOrder } from './worker.ts';

const WORKER = 'test/support/scale/worker.js';

export interface Workers {
  /** Starts a process and resolves when it is connected to the database and the API. */
  start(order: WorkOrder): Promise<ChildProcess>;
  /** Kills all that still run. */
  kill(): Promise<void>;
  close(): Promise<void>;
}

/** The program, which runs in as many processes as needed. */
export async function openWorkers(): Promise<Workers> {
  const compiled = await compile();
  const started: ChildProcess[] = [];
  const kill = async () => {
    const alive = started
      .splice(0)
      .filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null);
    await Promise.all(
      alive.map((process) => {
        const end = once(process, 'exit');
        process.kill('SIGKILL');
        return end;
      }),
    );
  };
  return {
    kill,
    start: async (order) => {
      const process = fork(join(compiled, WORKER), [JSON.stringify(order)]);
      started.push(process);
      await nextMessage(process);
      return process;
    },
    close: kill,
  };
}
