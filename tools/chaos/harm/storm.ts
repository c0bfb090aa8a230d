import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { OF_DATABASE, type Harm, type Harmful } from '../plan.ts';
import { withClient, type Run } from '../run.ts';
import { urlOf } from '../cluster.ts';
import { within } from '../within.ts';
import type { Workers } from '../workers.ts';

const TICK_MS = 50;

/** How long a worker is watched before it is frozen while it holds a lease. */
const AIM_MS = 2000;
const AIM_PAUSE_MS = 20;
/** A step that takes this much longer than planned hangs. */
const PATIENCE_S = 60;

/**
 * Advances the network and harms the workers and the database as planned, until both are at their end.
 * @throws Error if a harmed part does not come back
 */
export async function storm(run: Run, workers: Workers): Promise<void> {
  const under: Harmful[] = [];
  const done = Promise.all([moveHead(run), harmAll(run, workers, under)]);
  await within(run.plan.seconds + PATIENCE_S, done, () =>
    under.map(({ harm, at }) => `${harm} of ${at} ms`).join(', '),
  );
}

/** The head advances with the wall clock, from the end of history to the end of the range, unless the network stops. */
async function moveHead(run: Run): Promise<void> {
  const { simulator } = run;
  const { head, seconds } = run.plan;
  const began = performance.now();
  for (let share = 0; share < 1; share = (performance.now() - began) / (1000 * seconds)) {
    if (!run.isStill) simulator.headTime = head.from + share * (head.to - head.from);
    await delay(TICK_MS);
  }
  simulator.headTime = head.to;
}

/** `under` holds the harms that have begun and not ended. */
async function harmAll(run: Run, workers: Workers, under: Harmful[]): Promise<void> {
  const began = performance.now();
  const lasting: { readonly harm: Harm; readonly done: Promise<unknown> }[] = [];
  const ended = (harms: typeof lasting) => Promise.all(harms.map(({ done }) => done));
  try {
    for (const harmful of run.plan.harms) {
      const { harm } = harmful;
      await delay(Math.max(0, harmful.at - (performance.now() - began)));
      // A server that gives no connection cannot fail over to a standby.
      if (OF_DATABASE.has(harm)) await ended(lasting.filter((other) => other.harm === 'fill connections'));
      run.harms.set(harm, (run.harms.get(harm) ?? 0) + 1);
      under.push(harmful);
      const done = HARM[harm](run, workers, harmful).finally(() => under.splice(under.indexOf(harmful), 1));
      // The database has to be back before the next harm to it; all other harms may overlap.
      if (OF_DATABASE.has(harm)) await done;
      else lasting.push({ harm, done: done.catch(() => undefined) });
    }
  } finally {
    // The next seed on this server must not meet them.
    await ended(lasting);
  }
}

const HARM: Readonly<Record<Harm, (run: Run, workers: Workers, harmful: Harmful) => Promise<void>>> = {
  'kill worker': (_, workers, { worker }) => workers.kill(worker),
  'freeze worker': async (run, workers, { worker, ms }) => {
    await aim(run, () => workers.pidOf(worker));
    await workers.freeze(worker, ms, (pid) => expireLeases(run, pid));
  },
  'drop connections': async ({ proxy }) => {
    proxy.drop();
    await Promise.resolve();
  },
  'end sessions': (run) => withClient(run, endSessions),
  'kill database': async ({ cluster, proxy }) => {
    await cluster.killAndRestart();
    proxy.target = cluster.port;
  },
  'disk full': async (run, _, { ms }) => {
    const set = (full: boolean) =>
      withClient(run, async (client) => {
        await client.query(`update chaos.weather set disk_full = ${full}`);
      });
    await set(true);
    await delay(ms);
    await set(false);
  },
  // Like a standby that the program connects to too early.
  'read-only': async (run, _, { ms }) => {
    const set = (value: 'on' | 'off') =>
      withClient(run, async (client) => {
        await client.query(`alter database ${run.name} set default_transaction_read_only = ${value}`);
        await endSessions(client);
      });
    await set('on');
    await delay(ms);
    await set('off');
  },
  'fill connections': async (run, _, { ms }) => {
    const taken = await takeConnections(run);
    await taken[0]?.query(END_SESSIONS, [run.name]).catch(() => undefined);
    await delay(ms);
    await Promise.all(taken.map((client) => client.end().catch(() => undefined)));
  },
  'fail over': async ({ cluster, proxy }, _, { ms }) => {
    await cluster.failOver(ms / 4);
    proxy.target = cluster.port;
    proxy.drop();
  },
  'step clock': (_, workers, { worker, stepMs }) => workers.stepClock(worker, stepMs),
  'stand still': async (run, _, { ms }) => {
    run.isStill = true;
    await delay(ms);
    run.isStill = false;
  },
};

/** Takes every connection that the server gives. */
async function takeConnections({ cluster }: Run): Promise<pg.Client[]> {
  const taken: pg.Client[] = [];
  for (;;) {
    const client = new pg.Client({ connectionString: urlOf(cluster.url, 'postgres') });
    client.on('error', () => undefined);
    try {
      await client.connect();
    } catch {
      return taken;
    }
    taken.push(client);
  }
}

const END_SESSIONS = `
  select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and pid <> pg_backend_pid()`;

async function endSessions(client: pg.Client): Promise<void> {
  await client.query(END_SESSIONS, [client.database]);
}

/** The leases of a process, by its pid, which is in the middle of an owner's name. */
const OF_PROCESS = `owner like '%/' || $1 || '/%'`;

/** Waits a while for a moment in which the process reads something: freezing an idle one harms no other. */
async function aim(run: Run, pidOf: () => number | undefined): Promise<void> {
  const deadline = performance.now() + AIM_MS;
  await withClient(run, async (client) => {
    while (performance.now() < deadline) {
      const { rowCount } = await client.query(
        `select 1 from etl.leases where ${OF_PROCESS} and expires_at > clock_timestamp() limit 1`,
        [String(pidOf())],
      );
      if (rowCount !== 0) return;
      await delay(AIM_PAUSE_MS);
    }
  });
}

/** As if the process had been frozen for longer than its leases last. */
function expireLeases(run: Run, pid: number): Promise<void> {
  return withClient(run, async (client) => {
    await client.query(`update etl.leases set expires_at = clock_timestamp() where ${OF_PROCESS}`, [
      String(pid),
    ]);
  });
}
