import { openCrawl } from '../app.ts';
import { systemClock } from '../clock.ts';
import { loadDatasets } from '../dataset/load-jobs.ts';
import { chooseDatasets, splitKinds } from '../dataset/dataset.ts';
import { EXIT, UsageError, type ExitCode } from '../errors.ts';
import { parseRange } from '../range.ts';
import { causesOf } from '../verify/causes.ts';
import { createBlockSource } from '../verify/closure/block-source.ts';
import { proveRange } from '../verify/prove.ts';
import { isProved } from '../verify/verify.ts';
import type { Invocation } from './command.ts';
import { printReports, reportsToJson } from './output/verify-report.ts';
import { withSource } from './with-source.ts';

interface VerifyFlags {
  readonly from: string;
  readonly to: string;
  readonly only?: readonly string[];
  /** A share such as `1%`. */
  readonly deep?: string;
  readonly repair?: boolean;
  readonly json?: boolean;
  readonly record?: string;
}

/** `verify --from … --to …`: proves what is stored, and with `--repair` reads again what is wanting. */
export async function verify(invocation: Invocation, flags: VerifyFlags): Promise<ExitCode> {
  const { config, now } = invocation;
  const range = parseRange(flags.from, flags.to, now);
  const share = flags.deep === undefined ? 0 : parseShare(flags.deep);
  const all = await loadDatasets();
  const jobs = splitKinds(all).streams;
  // A collection is of no time: of a range of it nothing can be proved.
  const datasets = splitKinds(chooseDatasets(flags.only ?? config.datasets, all)).streams;
  const needs = { demo: 'still', applicationName: 'toncenter-etl verify' } as const;
  return withSource(invocation, needs, async (opened) => {
    const { store, stop } = opened;
    const { record } = flags;
    const crawl = await openCrawl({ ...invocation, ...opened, record });
    try {
      const { context, planner, chain, owner } = crawl;
      const repair = {
        database: store.database,
        jobs,
        stop,
        planner,
        owner,
        crawl: context,
        clock: systemClock,
        source: createBlockSource(context.api, chain, stop.leaving),
        watermark: chain.last.utime,
        leastPause: 0,
        insist: true,
      };
      const options = { datasets, range, share, repair: flags.repair === true, random: Math.random };
      const proof = await proveRange(repair, options);
      const { reports } = proof;
      const facts = { range, ...proof, causes: await causesOf(store.database, reports) };
      const { requests } = context.api.stats;
      if (flags.json === true) console.log(JSON.stringify(reportsToJson(facts, requests), null, 2));
      else printReports(facts, requests);
      const isDone = !proof.isShort && reports.every((report) => isProved(report, range));
      return isDone ? EXIT.done : EXIT.incomplete;
    } finally {
      await crawl.close();
    }
  });
}

function parseShare(text: string): number {
  const match = /^(\d+(?:\.\d+)?)\s*%$/.exec(text.trim());
  const share = Number(match?.[1]) / 100;
  if (share > 0 && share <= 1) return share;
  throw new UsageError(`--deep "${text}" is no share: write it like 1% or 0.1%`);
}
