import type { Database } from '../../db/connection/database.ts';
import type { Stream } from '../../db/coverage/coverage.ts';
import { atSpeed } from './at-speed.ts';
import type { CheckLook, Result, CheckStep } from '../check.ts';
import type { Finding } from '../finding.ts';
import type { Stop } from '../../stop.ts';
import { findUnheld } from './held.ts';
import { partsOf } from '../../range.ts';

/** Kind of the finding of a check that did not hold the rows that there must be. */
export const NOT_HELD = 'rows_not_held';

/**
 * Runs a check of one stretch. What it did not see it has not checked: a warning of the server fails it, and so do rows
 * that it should have held and did not.
 */
export async function runStep(
  { database, stop }: { readonly database: Database; readonly stop: Pick<Stop, 'finishing'> },
  { dataset, scope }: Pick<Stream, 'dataset' | 'scope'>,
  { check, stretch, run }: CheckStep,
): Promise<Result> {
  stop.finishing.throwIfAborted();
  const facts = { check, dataset, scope, rows: [] };
  const warned: Finding[] = [];
  const hear = (text: string) => {
    const example = `the database warned during the check: ${text}`;
    warned.push({ ...facts, kind: 'warning', outcome: 'open', spans: partsOf(stretch), count: 1, example });
  };
  let unheld: Finding[] = [];
  const look: CheckLook = (work) =>
    atSpeed(
      database,
      async (session) => {
        const seen = await work(session);
        unheld = [];
        for (const held of seen.held ?? []) {
          const found = await findUnheld(session, held, stretch);
          if (found === undefined) continue;
          const { spans, sentence } = found;
          unheld.push({ ...facts, kind: NOT_HELD, outcome: 'doubt', spans, count: 1, example: sentence });
        }
        return seen;
      },
      { onWarning: hear, signal: stop.finishing },
    );
  const result = await run(look);
  return { ...result, findings: [...result.findings, ...unheld, ...warned] };
}
