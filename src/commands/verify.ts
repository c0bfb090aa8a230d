import { openCrawl } from '../app/open-crawl.ts';
import { EXIT, IncompleteError, isAbort, type ExitCode } from '../errors.ts';
import { causesOf } from '../verify/causes.ts';
import { proveRange } from '../verify/prove.ts';
import { createRepairContext } from '../verify/repair-context.ts';
import { isProved } from '../verify/verify.ts';
import type { Invocation } from './command.ts';
import { printReports, reportsToJson } from './output/verify-report.ts';
import { parseVerify, type VerifyFlags } from './parse/verify-flags.ts';
import { withSource } from './with-source.ts';
import { closeAfter } from './close-after.ts';

const STOPPED =
  'verification was stopped: datasets whose checks had not all run keep the certificates that they had';
const AGAIN = { hint: 'Run the same command again.' };

/** `verify --from … --to …`: proves what is stored, and with `--repair` reads again what is missing or wrong. */
export async function verify(invocation: Invocation, flags: VerifyFlags): Promise<ExitCode> {
  const { jobs, datasets, range, share } = await parseVerify(invocation, flags);
  const needs = { demo: 'still', isRepeatable: true, applicationName: 'toncenter-etl verify' } as const;
  return withSource(invocation, needs, async (opened) => {
    const { store, stop } = opened;
    return closeAfter(await openCrawl({ ...invocation, ...opened, record: flags.record }), async (crawl) => {
      const watermark = crawl.chain.last.utime;
      const context = createRepairContext(crawl, { jobs, stop, watermark, leastPause: 0, insist: true });
      const options = { datasets, range, share, repair: flags.repair === true, random: Math.random };
      const proof = await proveRange(context, options).catch((error: unknown) => {
        throw stop.finishing.aborted && isAbort(error) ? new IncompleteError(STOPPED, AGAIN) : error;
      });
      const { reports } = proof;
      const facts = { range, ...proof, causes: await causesOf(store.database, reports) };
      const { requests } = crawl.context.api.stats;
      if (flags.json === true) console.log(JSON.stringify(reportsToJson(facts, requests), null, 2));
      else printReports(facts, requests);
      const isDone = !proof.isShort && reports.every((report) => isProved(report, range));
      return isDone ? EXIT.done : EXIT.incomplete;
    });
  });
}
