import type { Session } from '../postgres/database.ts';
import { logVerification } from '../write/verifications.ts';
import { describeFinding, spansOf, type Checked } from './checks/finding.ts';

export async function logChecks(session: Session, checks: readonly Checked[]): Promise<void> {
  for (const check of checks) await logVerification(session, toEntry(check));
}

function toEntry({ check, dataset, scope, span, rows, requests, ms, findings }: Checked) {
  return {
    check,
    dataset,
    scope,
    span,
    rows,
    requests,
    ms,
    found: findings.reduce((sum, { count }) => sum + count, 0),
    holes: spansOf(findings),
    detail: findings.map(describeFinding).join('; '),
  };
}
