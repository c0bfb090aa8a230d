import type { Store } from './store.ts';
import { systemClock, unixSeconds } from '../clock.ts';
import type { Config } from '../settings/config.ts';
import { decideSetting, readSetting } from '../db/settings.ts';
import { readNetwork } from '../db/connection/network.ts';
import { UsageError } from '../errors.ts';
import { formatTime, HOUR } from '../range.ts';
import { demoNetwork, liveDemoNetwork } from '../simulator/network/demo-network.ts';
import type { SimulatorOptions } from '../simulator/http/server.ts';

/** A live demo network begins with this much history, so that there is something to backfill. */
const HISTORY = HOUR;
/** It is made anew in memory at each start: for longer than this it takes too much of it. */
const LONGEST_LIFE = 12 * HOUR;

/** The host to ask. */
export interface Source {
  readonly baseUrl: string;
  /** Stops the simulator, where it was one. */
  close(): Promise<void>;
}

/**
 * The host that TONCENTER_NETWORK means; for `demo` a simulator in this process. `still` serves the fixed network of
 * `demo`, `live` one whose head moves with the wall clock; a database that has followed the live one stays with it.
 * @throws UsageError where the database's live demo network has grown too old, or it holds the fixed one
 */
export async function openSource(config: Config, store: Store, demo: 'still' | 'live'): Promise<Source> {
  if (config.baseUrl !== undefined) return { baseUrl: config.baseUrl, close: () => Promise.resolve() };
  const network = await demoOptions(store, demo);
  const rateLimit = { kind: 'sliding-window', rps: config.rps, graceMs: 100 } as const;
  // Only here: nobody else needs it.
  const { startSimulator } = await import('../simulator/http/server.ts');
  const simulator = await startSimulator({ ...network, rateLimit });
  return { baseUrl: simulator.url, close: () => simulator.close() };
}

async function demoOptions({ database, embedded }: Store, demo: 'still' | 'live'): Promise<SimulatorOptions> {
  const stored = (await readSetting(database, 'demo'))?.genesis;
  if (stored === undefined && demo === 'still') return demoNetwork;
  const another =
    embedded === undefined
      ? 'set DATABASE_URL to an empty database'
      : `set ETL_DATA_DIR to a new directory, or remove ${embedded.dataDir}`;
  if ((await readNetwork(database)) === demoNetwork.globalId) {
    throw new UsageError('this database holds the fixed demo network, which has no live head to follow', {
      hint: `To follow the live demo network ${another}.`,
    });
  }
  const now = unixSeconds(systemClock);
  const genesis = stored ?? (await decideSetting(database, 'demo', { genesis: now - HISTORY })).genesis;
  if (now - genesis > LONGEST_LIFE) {
    throw new UsageError(
      `the demo network of this database began at ${formatTime(genesis)} and is over: it lasts ${LONGEST_LIFE / HOUR} hours`,
      { hint: `What was read stays, and status and sql show it. To begin anew ${another}.` },
    );
  }
  return liveDemoNetwork(genesis);
}
