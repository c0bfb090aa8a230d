import type { Database } from '../postgres/database.ts';
import type { Stream } from '../ledger/stored-coverage.ts';
import { onFastSnapshot } from './checks/fast-snapshot.ts';
import type { CheckLook, Result, CheckStep } from './checks/check.ts';
import type { Finding } from './checks/finding.ts';
import type { Stop } from '../stop.ts';
import { partsOf } from '../range.ts';

/** Runs a check of one stretch. A warning of the server fails it, because the check may not have seen every row. */
export async function runStep(
  { database, stop }: { readonly database: Database; readonly stop: Pick<Stop, 'finishing'> },
  { dataset, scope }: Pick<Stream, 'dataset' | 'scope'>,
  { check, stretch, run }: CheckStep,
): Promise<Result> {
  stop.finishing.throwIfAborted();
  const facts = { check, dataset, scope, rows: [] };
  const warned: Finding[] = [];
  const onWarning = (text: string) => {
    const example = `the database warned during the check: ${text}`;
    warned.push({ ...facts, kind: 'warning', outcome: 'open', spans: partsOf(stretch), count: 1, example });
  };
  const look: CheckLook = (work) =>
    onFastSnapshot(database, work, { onWarning: onWarning, signal: stop.finishing });
  const result = await run(look);
  return { ...result, findings: [...result.findings, ...warned] };
}
