import { type Paging, parsePaging } from '../paging.ts';
import { addressBookMember, type RouteRequest, type Routes, utimeRange, within } from '../route.ts';
import { ServedError } from '../served-error.ts';
import type { Query } from '../simulator-query.ts';

/** Elections and the cycles of those who were elected: only build 1.3 knows them. */
export const electionRoutes: Routes = {
  '/api/v3/validators/elections': elections,
  '/api/v3/validators/cycles': cycles,
};

/** The maximum size of a page with all validators. */
const MOST_WHOLE = 100;

function elections(request: RouteRequest): string {
  const { query, ledger, view } = request;
  const { paging, whole } = parse(request, 'return_participants');
  const finished = query.bool('finished');
  const found = ledger.staking
    .elections(view.headTime, whole)
    .filter(
      (election) =>
        within(utimeRange(query), election.election_id) &&
        (query.int32('election_id') ?? election.election_id) === election.election_id &&
        (finished ?? election.finished) === election.finished,
    );
  return answer(request, 'elections', cut(found, paging));
}

function cycles(request: RouteRequest): string {
  const { query, ledger, view } = request;
  const { paging, whole } = parse(request, 'return_validators');
  const found = ledger.staking
    .cycles(view.headTime, whole)
    .filter(
      (cycle) =>
        within(utimeRange(query), cycle.cycle_start) &&
        (query.int32('cycle_start') ?? cycle.cycle_start) === cycle.cycle_start &&
        (query.int32('election_id') ?? cycle.election_id) === cycle.election_id,
    );
  return answer(request, 'cycles', cut(found, paging));
}

function parse({ query, build }: RouteRequest, name: string): { paging: Paging; whole: boolean } {
  const paging = parsePaging(query, build, 10);
  const whole = query.bool(name) === true;
  if (whole && paging.limit > MOST_WHOLE)
    throw new ServedError(422, `limit is not allowed: ${paging.limit} > ${MOST_WHOLE}`);
  checkWindow(query);
  return { paging, whole };
}

/** @throws ServedError if a window ends before it begins. */
export function checkWindow(query: Query): void {
  const [start, end] = [query.utime('start_utime'), query.utime('end_utime')];
  if (start !== undefined && end !== undefined && start > end)
    throw new ServedError(422, 'start_utime must be less than or equal to end_utime');
}

/** One page of rows that ascend. */
function cut<T>(rows: readonly T[], { sort, offset, limit }: Paging): T[] {
  return (sort === 'asc' ? rows : rows.toReversed()).slice(offset, offset + limit);
}

function answer(request: RouteRequest, member: string, page: readonly object[]): string {
  return `{"${member}":${JSON.stringify(page)},${addressBookMember(request, () => [])}}`;
}
