import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Faults } from '../../src/simulator/faults.ts';

/** One text of a compiled module that is replaced by another. */
interface Edit {
  /** Path below `src/`, without its ending. */
  readonly module: string;
  readonly find: string;
  readonly instead: string;
}

/** A bug that the harness must notice. */
export interface Mutant {
  readonly name: string;
  readonly what: string;
  readonly edits: readonly Edit[];
  /** The faults with which the bug does harm, if a seed's own may be too mild. */
  readonly faults?: Faults;
}

/**
 * Bugs of a crawler, each as a change to a compiled copy of the program. They are not in the sources; if the
 * sources change, `test/tools/mutants.test.ts` names the bugs that must follow.
 */
export const MUTANTS: readonly Mutant[] = [
  {
    name: 'coverage before rows',
    what: 'coverage is committed before its rows',
    edits: [
      {
        module: 'write/commit',
        find: `const isWhole = replaced !== undefined || commit.again !== undefined;`,
        instead: `const isWhole = replaced !== undefined || commit.again !== undefined;
    if (commit.done?.outcome === 'covered') return addCoverage(database, commit.lease.stream, commit.done.span)
      .then(() => loadRows(session, byTable, { newAfter: commit.newAfter, lease, isWhole }));`,
      },
    ],
  },
  {
    name: 'no fencing',
    what: 'a commit does not check whether it still holds its lease',
    edits: [
      {
        module: 'ledger/leases',
        find: 'export async function holdLease(session, lease, part) {',
        instead: 'export async function holdLease(session, lease, part) {\n    return;',
      },
    ],
    faults: { timeoutAboveLimit: 1000, timeout: 0, badGateway: 0, slowBody: 0.5, slowBodyMs: 300 },
  },
  {
    name: 'leases ignored',
    what: 'a claim ignores what other processes read',
    edits: [
      {
        module: 'ledger/leases',
        find: ' - ${gapSeconds()} - ${leased} - ',
        instead: ' - ${gapSeconds()} - ',
      },
    ],
  },
  {
    name: 'rest of a second skipped',
    what: 'after a full page, reading continues behind the second in which it ended',
    edits: [
      {
        module: 'dataset/paginators/forward',
        find: 'return { completed: range(cursor.at, last.utime), cursor: next };',
        instead: `return { completed: range(cursor.at, last.utime + 1), cursor: last.utime + 1 < cursor.to ? begin(cursor, last.utime + 1) : undefined };`,
      },
    ],
    faults: { timeoutAboveLimit: 16 },
  },
  {
    name: 'end second not requested',
    what: 'the last second of a window is not requested, although an inclusive end is sent',
    edits: [
      {
        module: 'dataset/paginators/forward',
        find: 'end_utime: until - 1 + ahead,',
        instead: 'end_utime: until - 2 + ahead,',
      },
    ],
  },
  {
    name: 'short page of blocks ends its window',
    what: 'a page of blocks that was cut short counts as the whole window',
    edits: [
      {
        module: 'dataset/paginators/forward',
        find: 'shortPage(cursor, joins)',
        instead: 'shortPage(cursor, { until: cursor.to })',
      },
    ],
    faults: { shortBlocks: 0.2 },
  },
  {
    name: 'gaps below the head ignored',
    what: 'the newest block seen is taken for the head, whatever is missing below it',
    edits: [
      {
        module: 'crawl/watermark/watermark',
        find: 'const seqno = contiguousFrom(start, [...known.values()], lost);',
        instead:
          'const seqno = Math.max(head.seqno, ...[...known.values()].filter((block) => block.workchain === -1).map((block) => block.seqno));',
      },
      {
        module: 'crawl/watermark/watermark',
        find: 'const missing = firstMissing(tops, withTops.known, completeTops, lost);',
        instead: 'const missing = undefined;',
      },
    ],
    faults: { lateBlocks: { probability: 0.06, seconds: 70 } },
  },
  {
    name: 'late block read too early',
    what: 'a late block is passed at once, although some servers still lack it',
    edits: [
      {
        module: 'crawl/watermark/finality-delay',
        find: 'Math.min(latest.utime, then.utime + delaySeconds)',
        instead: 'latest.utime',
      },
    ],
    faults: { lateBlocks: { probability: 0.03, seconds: 70 }, stale: 0.6, staleSeconds: 20 },
  },
  {
    name: 'retry counted as done',
    what: 'a range that must be retried counts as read',
    edits: [
      {
        module: 'crawl/streams/read-leases',
        find: 'read().catch(lost)',
        instead: `read().catch(lost).catch(async (error) => {
        if (stop.finishing.aborted || error.retryable !== true)
            throw error;
        await (await import('../../db/coverage/coverage.js')).addCoverage(database, lease.stream, lease.span);
    })`,
      },
    ],
  },
  {
    name: 'page with NUL dropped',
    what: 'a page with characters that Postgres cannot hold counts as empty',
    edits: [
      {
        module: 'api/read-response',
        find: 'isClean ? text : text.replace(ESCAPE, cleaned)',
        instead: String.raw`isClean ? text : '{"' + /"(\w+)"/.exec(text)?.[1] + '":[]}'`,
      },
    ],
  },
  {
    name: 'numbers rounded',
    what: 'numbers beyond 2^53 pass through a double',
    edits: [{ module: 'api/read-response', find: 'isDoubtful ?', instead: 'isDoubtful && text === "" ?' }],
  },
  {
    name: 'quarantined records not reported',
    what: 'records that do not fit are left out, their seconds are still covered, and nothing is reported',
    edits: [
      {
        module: 'write/insert',
        find: 'await quarantineRecords(session, stream, request, rejected);',
        instead: 'void request;',
      },
    ],
  },
  {
    name: 'actions never removed',
    what: 'a replaced second keeps the rows that the source no longer has',
    edits: [
      {
        module: 'write/insert',
        find: 'deleteUnlisted(session, target, replaced)',
        instead: 'Promise.resolve({ target, seconds: null })',
      },
    ],
    faults: { reclassify: { probability: 0.6, seconds: 60 } },
  },
];

/** A module's text with the edits of a mutant. @throws Error unless each of them has exactly one place */
export function mutate(module: string, text: string, { name, edits }: Mutant): string {
  return edits
    .filter((edit) => edit.module === module)
    .reduce((mutated, { find, instead }) => {
      const places = mutated.split(find).length - 1;
      if (places !== 1) throw new Error(`the mutant "${name}" has ${places} places in ${module}: ${find}`);
      return mutated.replace(find, () => instead);
    }, text);
}

/** A copy of the compiled program, and of the harness next to it, with the bug in it. */
export async function compileMutant(program: string, directory: string, mutant: Mutant): Promise<void> {
  await rm(directory, { recursive: true, force: true });
  for (const part of ['src', 'jobs', 'test', 'tools'])
    await cp(join(program, part), join(directory, part), { recursive: true });
  for (const module of new Set(mutant.edits.map((edit) => edit.module))) {
    const path = join(directory, 'src', `${module}.js`);
    await writeFile(path, mutate(module, await readFile(path, 'utf8'), mutant));
  }
}
