import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { HOUR, type Range } from '../../src/range.ts';
import type { SimulatorOptions } from '../../test/support/simulator/simulator.ts';

/** Two years: 24 monthly partitions. */
export const SPAN: Range = { from: Date.UTC(2024, 0, 1) / 1000, to: Date.UTC(2026, 0, 1) / 1000 };

/**
 * Seconds before the newest block of a network: a process that begins to poll waits with newer rows, for late
 * blocks.
 */
export const HELD_BACK = 600;

/** A network as busy as mainnet, of about so many transactions, with its pages made in advance. */
export function busyNetworkOf(transactions: number): SimulatorOptions & { start: number; duration: number } {
  const load = 20;
  return { seed: 9, start: SPAN.from, duration: transactions / load, accounts: 2000, load, prebuilt: true };
}

/** An hour of a quiet network, of about so many transactions, and a later part. */
export function quietHourOf(transactions: number): SimulatorOptions & { start: number; duration: number } {
  const load = transactions / HOUR;
  return { seed: 9, start: SPAN.from, duration: HOUR + HELD_BACK, accounts: 2000, load, prebuilt: true };
}

export interface ServedNetwork {
  readonly url: string;
  /** Milliseconds that a response takes from now on. */
  setLatency(ms: number): void;
  /** The CPU cost of serving so far. */
  cpuSeconds(): Promise<number>;
  stop(): Promise<void>;
}

/** Serves a network in a separate process, so that its work is not counted as the crawler's. */
export async function serveNetwork(network: SimulatorOptions): Promise<ServedNetwork> {
  const child = fork(new URL('./serve.js', import.meta.url), [JSON.stringify(network)]);
  const url = await messageOf(child);
  return {
    url: String(url),
    setLatency: (ms) => child.send(ms),
    cpuSeconds: async () => {
      child.send('cpu');
      return Number(await messageOf(child));
    },
    async stop() {
      child.disconnect();
      await once(child, 'exit');
    },
  };
}

/** The first message of a child process; rejects if the process ends without one. */
export async function messageOf(child: ChildProcess): Promise<unknown> {
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`the child process ended with ${String(code)}`);
  });
  const [message] = (await Promise.race([once(child, 'message'), ended])) as [unknown];
  return message;
}
