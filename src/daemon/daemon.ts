import { watermarkNotKnown, type Watermark } from '../crawl/watermark/watermark.ts';
import { keepWanted, readWanted } from '../ledger/wanted.ts';
import { parseTime } from '../range.ts';
import { createOutageLog } from '../retry.ts';
import { followedDatasets } from '../status/readiness.ts';
import { collectionLoops } from './collections-loop.ts';
import { waitFor, type DaemonContext, type ChainPosition } from './daemon-context.ts';
import { runHistoryLoop, runTailLoop } from './stream-loops.ts';
import { runLakeLoop, runRetentionLoop } from './lake-loop.ts';
import { runSchedules } from './schedules.ts';
import { runVerifyLoop } from './verify-loop.ts';
import { createWatermarkLeader, type WatermarkLeader } from './watermark-leader.ts';
import { longestPollSeconds } from '../dataset/tail-pace.ts';
import { unixSeconds } from '../clock.ts';

/** After this many missed polls of the leading process, another one leads. */
const LEADER_POLLS = 2.5;

/**
 * Keeps the datasets complete from `wanted` to the watermark until stopped. The tail is read in rounds, and
 * everything older in parallel. The daemon waits for an API or a database that is down. Only an error that a
 * person must fix ends it.
 */
export async function runDaemon(given: DaemonContext): Promise<void> {
  const { logger, clock } = given.context;
  const outage = createOutageLog(logger, clock);
  const daemon = { ...given, outage };
  const leader = openLeader(daemon);
  const position = await findPosition(daemon, leader);
  if (position === undefined) return;
  const loops = stopTogether(daemon);
  const followed = followedDatasets(daemon.datasets, daemon.config.schedules);
  const ends = await Promise.allSettled([
    loops.run((own) => runTailLoop({ ...own, datasets: followed }, position, leader)),
    loops.run((own) => runHistoryLoop({ ...own, datasets: followed }, position)),
    loops.run((own) => runSchedules(own, position)),
    loops.run((own) => runVerifyLoop(own, position)),
    loops.run((own) => runLakeLoop(own)),
    loops.run((own) => runRetentionLoop(own, position)),
    ...collectionLoops(loops.own, position).map((loop) => loops.run(loop)),
  ]);
  const failure = ends.find((end) => end.status === 'rejected');
  if (failure !== undefined) throw failure.reason;
}

/** If one loop of the daemon fails, the others finish their pages and end, too. */
function stopTogether(daemon: DaemonContext) {
  const { finishing, leaving } = daemon.stop;
  const stopping = new AbortController();
  const end = () => stopping.abort();
  if (finishing.aborted) end();
  finishing.addEventListener('abort', end, { once: true });
  const own = { ...daemon, stop: { finishing: stopping.signal, leaving } };
  return { own, run: (loop: (own: DaemonContext) => Promise<void>) => loop(own).finally(end) };
}

function openLeader(daemon: DaemonContext): WatermarkLeader {
  const { config } = daemon;
  return createWatermarkLeader({
    ...daemon,
    absentSeconds: LEADER_POLLS * longestPollSeconds(config),
    delaySeconds: config.watermarkDelay,
  });
}

function findPosition(daemon: DaemonContext, leader: WatermarkLeader): Promise<ChainPosition | undefined> {
  return waitFor(daemon, 'the watermark', async () => {
    const watermark = await leader.poll(daemon.stop.leaving);
    // With a watermark of 0, "from the head on" would mean from the first block on.
    if (watermark.utime === 0) throw watermarkNotKnown(watermark);
    return { watermark, since: await decideWanted(daemon, watermark) };
  });
}

async function decideWanted(
  { context, chain, datasets, collections = [], config }: DaemonContext,
  watermark: Watermark,
) {
  const now = unixSeconds(context.clock);
  const chosen = config.since ?? 'head';
  const words: Readonly<Record<string, number>> = {
    head: watermark.newest - config.watermarkDelay,
    first: chain.first.utime,
  };
  const since = Math.max(chain.first.utime, words[chosen] ?? parseTime(chosen, now));
  for (const { name } of [...datasets, ...collections])
    await keepWanted(context.database, name, { since, chosen, isDefault: config.since === undefined });
  return readWanted(context.database);
}
