import { openApi } from '../app/open-crawl.ts';
import { loadJobs } from '../dataset/load-jobs.ts';
import { findHashColumns } from '../db/read/find-hash.ts';
import { EXIT, UsageError, type ExitCode } from '../errors.ts';
import { DAY, formatTime, parseTime } from '../range.ts';
import { parseHash } from '../ton/hash.ts';
import { askByHash } from '../why/ask-by-hash.ts';
import { findClues } from '../why/find-clues.ts';
import type { Invocation } from './command.ts';
import { clueLine, clueLines } from './output/clue-lines.ts';
import { withHost } from './with-host.ts';
import { withStore } from './with-store.ts';
import { closeAfter } from './close-after.ts';

/**
 * `why HASH [--at TIME]`: what the database knows of a transaction, message or whatever else has this hash, and why it
 * has no row of it where it has none. Exit 0 where it is stored and nothing is known to be wrong with it, 3 otherwise.
 */
export async function why(invocation: Invocation, given: string, flags: { at?: string }): Promise<ExitCode> {
  const hash = parseHash(given);
  const at = flags.at === undefined ? undefined : parseTime(flags.at, invocation.now);
  if (at !== undefined && at > invocation.now + DAY)
    throw new UsageError(`--at ${formatTime(at)} lies in the future: nothing of it can be read`);
  return withStore(invocation, 'toncenter-etl why', async (store) => {
    const ask = (asked: string) =>
      withHost(invocation, store, (opened) =>
        closeAfter(openApi({ ...invocation, ...opened }), (api) =>
          askByHash(api, asked, opened.stop.finishing),
        ),
      );
    const { database } = store;
    const known = { datasets: await loadJobs(), places: await findHashColumns() };
    console.log(clueLine('hash', hash));
    let isStored = false;
    let isWrong = false;
    for await (const clue of findClues({ database, ...known, hash, at, ask })) {
      isStored ||= clue.kind === 'stored';
      isWrong ||= clue.kind === 'wrong';
      for (const line of clueLines(clue)) console.log(line);
    }
    return isStored && !isWrong ? EXIT.done : EXIT.incomplete;
  });
}
