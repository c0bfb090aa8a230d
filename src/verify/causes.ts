import { readStatus } from '../read/stored-status.ts';
import type { Session } from '../postgres/database.ts';
import { common, formatRange } from '../range.ts';
import type { Verified } from './verify.ts';

/** Why seconds of each report are not covered, as far as somebody knows. */
export type Causes = ReadonlyMap<Verified, readonly string[]>;

export async function causesOf(session: Session, reports: readonly Verified[]): Promise<Causes> {
  const { refused } = await readStatus(session);
  return new Map(
    reports.map((report) => [
      report,
      refused
        .filter(({ dataset, scope }) => dataset === report.stream.dataset && scope === report.stream.scope)
        .filter(({ span }) => common(span, report.missing).length > 0)
        .map(({ span, reason, detail }) => `${span.map(formatRange).join()}: ${reason}, ${detail}`),
    ]),
  );
}
