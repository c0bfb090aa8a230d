import type { EventSource } from '../../ledger.ts';
import type { NominatorEventJson } from '../../network/staking/nominator-events.ts';
import { cutPage, parsePaging, type Paging } from '../paging.ts';
import type { Query } from '../simulator-query.ts';
import {
  addressBookMember,
  EVERYTHING,
  utimeRange,
  type RouteRequest,
  type Routes,
  within,
} from '../route.ts';
import { walk } from '../../simulator-rows.ts';
import { ServedError } from '../served-error.ts';

/** Elections and the cycles of those who were elected: only build 1.3 knows them. */
const electionRoutes: Routes = {
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
function checkWindow(query: Query): void {
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

/** Validators and nominator pools: only build 1.3 knows them. */
export const stakingRoutes: Routes = {
  ...electionRoutes,
  '/api/v3/validators/events': validatorEvents,
  '/api/v3/validators/complaints': complaints,
  '/api/v3/staking/nominatorPools/validatorEvents': poolEvents,
  '/api/v3/staking/nominatorPools/nominatorEvents': nominatorEvents,
  '/api/v3/staking/nominatorPools/pool': pool,
};

const DEFAULT_LIMIT = 10;

/** offset and sort are taken, though nothing says so. The order (utime, lt) is total: one account's transactions. */
function validatorEvents(request: RouteRequest): string {
  const { query, ledger } = request;
  const holder = query.address('stake_holder_address');
  const [adnl, pubkey] = [hex(query, 'adnl_address'), hex(query, 'validator_pubkey')];
  if (holder !== undefined && adnl !== undefined)
    throw new ServedError(422, 'only one of stake_holder_address, adnl_address should be specified');
  const type = query.text('type');
  const paging = parsePaging(query, request.build, DEFAULT_LIMIT);
  const page = take(
    request,
    ledger.staking.validatorEvents,
    { ...paging, descending: paging.sort !== 'asc' },
    (event) =>
      matches([
        [holder, event.stake_holder_address],
        [adnl, event.adnl_addr],
        [pubkey, event.validator_pubkey],
        [type, event.type],
      ]),
  );
  const addresses = (): string[] => page.map((event) => event.stake_holder_address);
  return `{${window(query)}"events":${JSON.stringify(page)},${addressBookMember(request, addresses)}}`;
}

/** Newest first and nothing but a limit: a second with more events than that cannot be paged past. */
function poolEvents(request: RouteRequest): string {
  const { query, ledger } = request;
  const [pool_, validator] = [query.address('pool'), query.address('validator')];
  if (pool_ === undefined && validator === undefined)
    throw new ServedError(422, 'validator or pool parameter is required');
  const type = query.text('type');
  const { limit } = parsePaging(query, request.build);
  const page = take(request, ledger.staking.poolEvents, { limit, offset: 0, descending: true }, (event) =>
    matches([
      [pool_, event.pool_address],
      [validator, event.validator_address],
      [type, event.type],
    ]),
  );
  const addresses = (): string[] =>
    page.flatMap(({ pool_address, validator_address }) => [pool_address, validator_address]);
  return `{${window(query)}"events":${JSON.stringify(page)},${addressBookMember(request, addresses)}}`;
}

/** As the events of validators, and as many a transaction as there are nominators: those of one that does not fit are cut. */
function nominatorEvents(request: RouteRequest): string {
  const { query, ledger } = request;
  const [pool_, nominator] = [query.address('pool'), query.address('nominator')];
  if (pool_ === undefined) throw new ServedError(422, 'pool parameter is required');
  const { limit } = parsePaging(query, request.build);
  const isAsked = (event: NominatorEventJson) =>
    matches([
      [pool_, event.pool_address],
      [nominator, event.nominator_address],
    ]);
  const page = take(
    request,
    ledger.staking.nominatorEvents,
    { limit, offset: 0, descending: true },
    (events) => events.some(isAsked),
  )
    .flatMap((events) => events.filter(isAsked).reverse())
    .slice(0, limit);
  const addresses = (): string[] =>
    page.flatMap(({ pool_address, nominator_address }) => [pool_address, nominator_address]);
  return `{${window(query)}"events":${JSON.stringify(page)},${addressBookMember(request, addresses)}}`;
}

/** What a pool is at the moment that is shown. */
function pool(request: RouteRequest): string {
  const { query, ledger, view } = request;
  const address = query.address('pool');
  if (address === undefined) throw new ServedError(422, 'pool parameter is required');
  const { poolEvents: source } = ledger.staking;
  const rows = walk(source.byTime(EVERYTHING), false, (row) => source.visible(view, row));
  const found = ledger.staking.pool(address, [...rows]);
  if (found === undefined) throw new ServedError(404, 'Pool not found');
  const { validator, last, nominators } = found;
  const body = {
    stake_amount_sent: last?.type === 'deposit' ? '300000000000000' : '0',
    validator_amount: last?.balance_after ?? '0',
    validator_address: validator,
    validator_reward_share: last?.validator_reward_share ?? 0,
    state: last?.type === 'deposit' ? 2 : 0,
    nominators_count: nominators.length,
    max_nominators_count: 40,
    min_validator_stake: '10000000000000',
    min_nominator_stake: '10000000000000',
    active_nominators: nominators,
  };
  return `${JSON.stringify(body).slice(0, -1)},${addressBookMember(request, () => [validator])}}`;
}

/** created_at follows the direction, the hash always ascends. */
function complaints(request: RouteRequest): string {
  const { query, ledger, view } = request;
  const paging = parsePaging(query, request.build, DEFAULT_LIMIT);
  checkWindow(query);
  const found = ledger.staking
    .complaints(utimeRange(query) ?? EVERYTHING, view.headTime)
    .filter((complaint) =>
      matches([
        [query.int32('cycle_start'), complaint.cycle_start],
        [query.int32('election_id'), complaint.election_id],
        [query.address('stake_holder_address'), complaint.stake_holder_address],
        [hex(query, 'adnl_address'), complaint.adnl_addr],
        [hex(query, 'validator_pubkey'), complaint.validator_pubkey],
      ]),
    );
  const sign = paging.sort === 'asc' ? 1 : -1;
  found.sort(
    (a, b) => sign * (a.created_at - b.created_at) || (a.complaint_hash < b.complaint_hash ? -1 : 1),
  );
  const page = found.slice(paging.offset, paging.offset + paging.limit);
  const addresses = (): string[] =>
    page.flatMap(({ stake_holder_address: holder, reward_address: reward }) =>
      holder === undefined ? [reward] : [holder, reward],
    );
  return `{"complaints":${JSON.stringify(page)},${addressBookMember(request, addresses)}}`;
}

/** The events of one page, in the order (utime, lt). */
function take<T>(
  { query, view }: RouteRequest,
  source: EventSource<T>,
  paging: { readonly limit: number; readonly offset: number; readonly descending: boolean },
  passes: (event: T) => boolean,
): T[] {
  checkWindow(query);
  const rows = walk(
    source.byTime(utimeRange(query) ?? EVERYTHING),
    paging.descending,
    (row) => source.visible(view, row) && passes(source.json(row)),
  );
  return cutPage(rows, paging).map((row) => source.json(row));
}

/** The window as it was asked for; what was not asked for is left out. */
function window(query: Query): string {
  return ['start_utime', 'end_utime']
    .map((name) => ({ name, value: query.utime(name) }))
    .map(({ name, value }) => (value === undefined ? '' : `"${name}":${value},`))
    .join('');
}

/** True if every value that is asked for is there. */
function matches(pairs: readonly (readonly [unknown, unknown])[]): boolean {
  return pairs.every(([asked, there]) => asked === undefined || asked === there);
}

/** Keys and addresses of validators are taken in every form of a hash and compared as upper-case hex. */
function hex(query: Query, name: string): string | undefined {
  const hash = query.hash(name);
  return hash === undefined ? undefined : Buffer.from(hash, 'base64').toString('hex').toUpperCase();
}
