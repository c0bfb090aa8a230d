import { getTableName } from 'drizzle-orm';
import { coverage, leases } from '../schema/etl/coverage.ts';

/**
 * Statements that take one second out of a dataset's coverage, so that it is read again; leases first, so that no page
 * asked for before can cover it again. For people: names are not quoted, because a shell would take the quotes.
 */
export function uncoverStatements(dataset: string, time: number): string {
  const second = `int8range(${time}, ${time + 1})`;
  const where = `${coverage.dataset.name} = '${dataset}' and ${coverage.pass.name} = 0`;
  const [covered, verified] = [coverage.covered, coverage.verified].map(
    ({ name }) => `${name} = ${name} - int8multirange(${second})`,
  );
  return [
    `delete from etl.${getTableName(leases)} where ${where} and ${leases.span.name} && ${second};`,
    `update etl.${getTableName(coverage)} set ${covered ?? ''}, ${verified ?? ''} where ${where}`,
  ].join(' ');
}
