import { sql, type SQL } from 'drizzle-orm';
import type { Checks } from '../../dataset/checks.ts';
import type { Job } from '../../dataset/job.ts';
import { blockSeconds } from './block-seconds.ts';
import { type Check, openStep, type CheckInput, type Result, type CheckStep } from './check.ts';
import { actions } from './check-actions.ts';
import { blocks } from './check-blocks.ts';
import { messages } from './check-messages.ts';
import { traces } from './check-traces.ts';
import { transactions } from './check-transactions.ts';
import { crossChecks } from './cross-checks.ts';
import { secondReading } from './second-reading.ts';
import { stateChain } from './state-chain.ts';
import type { Session } from '../../postgres/database.ts';
import { multirangeParam } from '../../postgres/sql.ts';
import { quarantine as q } from '../../tables/etl/quarantine.ts';
import { partsOf, type Stretch } from '../../range.ts';
import { countOf, findingsOf, type Finding } from './finding.ts';
import { ownTablesOf, factsOf } from '../../tables/describe.ts';
import { SEAL } from '../../ledger/stored-findings.ts';
import { countToSeal, otherThanSealed, sealedWithin } from '../../write/seals.ts';
import { targetOf, type Target } from '../../write/target.ts';
import { countRows } from '../../read/table-rows.ts';

/** The checks that a dataset can declare, by name, in the order in which they run. */
const DECLARED: Readonly<Record<keyof Checks, Check>> = {
  blocks,
  'block-seconds': blockSeconds,
  transactions,
  messages,
  'state-chain': stateChain,
  traces,
  'cross-checks': crossChecks,
  actions,
  'second-reading': secondReading,
};

/** The checks of a dataset: those of every dataset, then those that it declares. */
export function checksOf({ checks }: Job): readonly Check[] {
  const declared = Object.values(DECLARED).filter(({ name }) => Object.hasOwn(checks, name));
  return [quarantine, sealCheck, ...(declared.length > 0 ? declared : [unchecked])];
}

const NAME = 'unchecked';

/** Replaces the checks of a dataset that declares none: its seconds are never verified. */
const unchecked: Check = {
  name: NAME,
  needs: [],
  reads: () => [],
  steps: (_, input) =>
    input.stretches.map((stretch) =>
      openStep(NAME, input, stretch, {
        kind: 'no_check',
        sentence: 'the dataset declares no check, so nothing is known of its rows',
      }),
    ),
};

/** Seconds with quarantined records are incomplete: they get no certificate, and are not read again. */
const quarantine: Check = {
  name: 'quarantine',
  needs: [],
  reads: () => [],
  steps: (_, input) =>
    input.stretches.map((stretch) => ({
      check: 'quarantine',
      stretch,
      run: (look) => look((session) => checkQuarantine(session, input, stretch)),
    })),
};

async function checkQuarantine(
  session: Session,
  { dataset: { name }, stream: { scope } }: CheckInput,
  stretch: Stretch,
): Promise<Result> {
  const seconds = multirangeParam(partsOf(stretch));
  const here = sql`${q.dataset} = ${name} and ${q.scope} = ${scope} and ${q.span} && ${seconds}`;
  const findings = await findingsOf(session, {
    check: 'quarantine',
    dataset: name,
    scope,
    query: sql`
      select 'quarantined' as kind, 'known' as outcome, ${q.record_id} as id, part as span
      from ${q} cross join lateral unnest(int8multirange(${q.span}) * ${seconds}) as part where ${here}`,
  });
  return { findings, rows: await countOf(session, sql`select count(*) as count from ${q} where ${here}`) };
}

/**
 * The rows of every sealed second are those that were proved: the same number, with the same keys. If there are fewer,
 * rows have vanished. If there are more, another program wrote some. Seconds that are not sealed yet are counted, to be
 * sealed if the other checks certify them. Those checks look later, so they notice rows that vanish meanwhile.
 */
const sealCheck: Check = {
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
