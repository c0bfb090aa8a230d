import { sql, type SQL } from 'drizzle-orm';
import { ownTablesOf } from '../../tables/owners.ts';
import type { Session } from '../../postgres/database.ts';
import { SEAL } from '../../ledger/held-by-traces.ts';
import { factsOf } from '../../tables/describe.ts';
import { countToSeal, otherThanSealed, sealedWithin } from '../../write/seals.ts';
import { targetOf, type Target } from '../../write/target.ts';
import type { Stretch } from '../../range.ts';
import type { Check, CheckInput, CheckStep } from './check.ts';
import { findingsOf, type Finding } from './finding.ts';
import { countRows } from '../../read/table-rows.ts';

/**
 * The rows of every sealed second are those that were proved: the same number, with the same keys. If there are fewer,
 * rows have vanished. If there are more, another program wrote some. Seconds that are not sealed yet are counted, to be
 * sealed if the other checks certify them. Those checks look later, so they notice rows that vanish meanwhile.
 */
export const sealCheck: Check = {
  name: SEAL,
  needs: [],
  reads: () => [],
  steps({ database, jobs }, { dataset, stream, stretches }) {
    const tables = ownTablesOf(dataset, jobs).filter(([, table]) => factsOf(table).partitioned);
    return tables.flatMap(([, table]) =>
      stretches.map((stretch): CheckStep => {
        const run: CheckStep['run'] = async (look) => {
          const seen = await look(async (session) => ({
            findings: await findBroken(session, table, { ...stream, stretch }),
            rows: await countRows(session, table, stretch),
          }));
          await countToSeal(database, table, stretch);
          return seen;
        };
        return { check: SEAL, stretch, run };
      }),
    );
  },
};

async function findBroken(
  session: Session,
  table: object,
  {
    dataset,
    scope,
    stretch,
  }: Pick<CheckInput['stream'], 'dataset' | 'scope'> & { readonly stretch: Stretch },
): Promise<Finding[]> {
  const target = targetOf(table);
  const facts = { check: SEAL, dataset, scope, table };
  const found: Finding[] = [];
  for (const part of await sealedWithin(session, target, stretch))
    found.push(...(await findingsOf(session, { ...facts, query: brokenSeconds(target, part) })));
  return found;
}

function brokenSeconds(target: Target, stretch: Stretch): SQL {
  return sql`
    select case when held <= proved then 'vanished' else 'unknown' end || '_rows_of_' || ${target.name}::text as kind,
      case when held <= proved then 'hole' else 'doubt' end as outcome,
      to_char(to_timestamp(second) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
        || ' has ' || held || ' of ' || proved || ' rows' as id,
      int8range(second, second + 1) as span
    from (${otherThanSealed(target, stretch)}) r`;
}
