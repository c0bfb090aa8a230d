import type { Database } from '../../db/connection/database.ts';
import type { Stream } from '../../db/coverage/coverage.ts';
import { atSpeed } from './at-speed.ts';
import type { Result, Step } from '../check.ts';
import type { Finding } from '../finding.ts';
import { findUnheld, type Held, holdRows } from './held.ts';

/** Kind of the finding of a check that did not hold the rows that there must be. */
export const NOT_HELD = 'rows_not_held';

/**
 * Runs a check of one stretch on one snapshot. What it did not see it has not checked: a warning of the server fails it,
 * and so do rows that it should have held and did not.
 */
export async function runStep(
  database: Database,
  { dataset, scope }: Pick<Stream, 'dataset' | 'scope'>,
  step: Step,
): Promise<Result> {
  const { check, stretch, waitsFor = [] } = step;
  const facts = { check, dataset, scope, rows: [] };
  const warnings: string[] = [];
  // A transaction that waits for the source would be ended by the server.
  const early = waitsFor.length > 0 ? await step.run(database) : undefined;
  const { result, unheld } = await atSpeed(
    database,
    async (session) => {
      const late: Held[] = [];
      for (const table of waitsFor) late.push(await holdRows(session, table, stretch));
      const made = early ?? (await step.run(session));
      const findings: Finding[] = [];
      for (const held of [...(made.held ?? []), ...late]) {
        const found = await findUnheld(session, held, stretch);
        if (found === undefined) continue;
        const { spans, sentence } = found;
        findings.push({ ...facts, kind: NOT_HELD, outcome: 'doubt', spans, count: 1, example: sentence });
      }
      return { result: made, unheld: findings };
    },
    (text) => warnings.push(text),
  );
  const warned = warnings.map((text): Finding => ({
    ...facts,
    kind: 'warning',
    outcome: 'open',
    spans: [stretch],
    count: 1,
    example: `the database warned during the check: ${text}`,
  }));
  return { ...result, findings: [...result.findings, ...unheld, ...warned] };
}
