import type { Crawl } from '../app.ts';
import { readCollections } from '../crawl/collections/collections.ts';
import type { Collection } from '../dataset/dataset.ts';
import { EXIT, IncompleteError, type ExitCode } from '../errors.ts';
import { outlast } from '../retry.ts';
import type { Priority } from '../budget/priority.ts';
import type { Range } from '../range.ts';
import type { Stop } from '../stop.ts';
import { tell, type Invocation } from './command.ts';

const BACKFILL: Priority = 'backfill';

interface Behind {
  readonly invocation: Invocation;
  readonly collections: readonly Collection[];
  readonly carried: readonly Collection[];
  readonly stop: Stop;
  readonly crawl: Crawl;
  readonly range: Range | undefined;
}

/** Reads the collections; `exit` is how the streams before them ended. */
export async function readBehind(errand: Behind, exit: ExitCode): Promise<ExitCode> {
  const { crawl, collections, carried, range, stop, invocation } = errand;
  if (collections.length === 0 || stop.finishing.aborted) return exit;
  const round = {
    context: crawl.context,
    owner: crawl.owner,
    choices: invocation.config.choices,
    carried,
    range,
    stop,
    firstSeqno: crawl.chain.first.seqno,
    priority: BACKFILL,
    pace: () => Promise.resolve(),
  };
  let failed: readonly string[] | undefined;
  try {
    const waiting = { ...crawl.context, signal: stop.finishing };
    failed = await outlast(waiting, 'the collections', () => readCollections(round, collections));
  } catch (error) {
    if (!(error instanceof IncompleteError)) throw error;
    tell(error);
  }
  for (const name of failed ?? []) console.log(`missing   ${name}: the API refused it; status says why`);
  const done = failed !== undefined && failed.length === 0 && !isEnded(stop);
  const names = collections.map(({ name }) => name).join(', ');
  console.log(
    `${done ? 'read' : 'incomplete'}: ${names}, ${crawl.context.api.stats.requests} requests in all`,
  );
  return done ? exit : EXIT.incomplete;
}

/** Asked again after waiting: a signal may have come meanwhile. */
function isEnded({ finishing }: Stop): boolean {
  return finishing.aborted;
}
