import { openCrawl } from '../app/open-crawl.ts';
import { planDatasets } from '../crawl/plan/plan-datasets.ts';
import { reachOf } from '../crawl/streams/reach.ts';
import { chooseDatasets, splitKinds } from '../dataset/dataset.ts';
import { loadDatasets } from '../dataset/load-jobs.ts';
import { EXIT, type ExitCode } from '../errors.ts';
import { parseRange } from '../range.ts';
import type { Invocation } from './command.ts';
import { planToJson, printPlan } from './output/plan-report.ts';
import { noteOnReach, printSummary } from './output/summary.ts';
import { withSource } from './with-source.ts';
import { closeAfter } from './close-after.ts';

interface PlanFlags {
  readonly from: string;
  readonly to: string;
  readonly only?: readonly string[];
  readonly json?: boolean;
}

/** `plan --from … --to …`: what a backfill will bring and cost, from a few samples of the range. */
export async function plan(invocation: Invocation, flags: PlanFlags): Promise<ExitCode> {
  const { config, now } = invocation;
  const wanted = parseRange(flags.from, flags.to, now);
  // A collection is of no time: its cost is shown by its own report.
  const jobs = await loadDatasets();
  const datasets = splitKinds(chooseDatasets(flags.only ?? config.datasets, jobs)).streams;
  const needs = { demo: 'still', isRepeatable: true, applicationName: 'toncenter-etl plan' } as const;
  return withSource(invocation, needs, async (opened) => {
    const { store, stop, baseUrl } = opened;
    return closeAfter(await openCrawl({ ...invocation, ...opened }), async (crawl) => {
      const { context, chain } = crawl;
      const delaySeconds = config.watermarkDelay;
      const looking = { delaySeconds, isEstimate: true, signal: stop.finishing };
      const { range, watermark } = await reachOf({ ...crawl, wanted, ...looking });
      const about = { database: store.database, globalId: chain.globalId, baseUrl, datasets };
      const note = noteOnReach({ range }, wanted, chain);
      if (flags.json !== true) await printSummary({ ...about, wanted: range ?? wanted, note });
      if (range === undefined) return EXIT.incomplete;
      const { rps } = config;
      const options = {
        datasets,
        jobs: splitKinds(jobs).streams,
        range,
        watermark,
        rps,
        signal: stop.leaving,
      };
      const made = await planDatasets(context, options);
      const report = { range, ...made, rps, probes: context.api.stats.requests };
      if (flags.json === true) console.log(JSON.stringify(planToJson(report), null, 2));
      else printPlan(report);
      return EXIT.done;
    });
  });
}
