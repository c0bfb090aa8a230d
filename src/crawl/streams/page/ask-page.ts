import type { ApiClient } from '../../../api/client.ts';
import type { Exchange } from '../../../api/exchange.ts';
import type { Flight } from '../../../budget/in-flight.ts';
import type { Priority } from '../../../budget/priority.ts';
import type { Dataset } from '../../../dataset/dataset.ts';
import type { RecordsReading } from '../../../dataset/job.ts';
import type { Params, Step } from '../../../dataset/paginators/paginator.ts';
import type { Stream } from '../../../ledger/stored-coverage.ts';
import { BadResponseError } from '../../../errors.ts';
import type { Range } from '../../../range.ts';
import type { NetworkWatch } from '../../network-guard.ts';
import type { SpanTrust } from '../../limit-trust.ts';
import type { LtBounds } from '../../lt-bounds.ts';
import { contentOf, inside, readBody, type Content, type ReadBody } from './read-page.ts';

interface PageRequest {
  readonly dataset: Dataset;
  readonly stream: Pick<Stream, 'scope'>;
  /** The position of the dataset's paginator. */
  readonly cursor: unknown;
  /** The most rows to ask for. */
  readonly size: number;
  /** Decides whether a short page of this span may have been cut. */
  readonly trust: SpanTrust;
  readonly priority: Priority;
  /** If omitted, the page gives its memory slot back as soon as it is read. */
  readonly flight?: Flight;
  /** The seconds whose rows are written, if they are known before the page comes. */
  readonly toWrite?: Range | undefined;
  readonly signal: AbortSignal;
  /** Attempts if the page may never be served. If omitted, as many as usual. */
  readonly attemptsInDoubt?: number | undefined;
}

/** What a page request needs. */
export interface Asking {
  readonly api: ApiClient;
  readonly network: Pick<NetworkWatch, 'confirm'>;
  readonly lts: LtBounds;
}

/** A page of a stream: its raw records, their reading, and the step of the paginator. */
export interface PageRead extends Pick<ReadBody, 'records' | 'reading'> {
  readonly step: Step<unknown>;
  /**
   * The rows to write, if the written seconds were known before the page came. Then the records and what was
   * accepted of them are released.
   */
  readonly content?: Content;
}

/**
 * Requests one page of a stream and reads it. Every page of a stream is requested here.
 * @throws BadResponseError if the response cannot answer this request, or if its window differs from the requested one
 */
export async function askPage(
  { api, network, lts }: Asking,
  request: PageRequest,
): Promise<Exchange<PageRead>> {
  await network.confirm();
  const { dataset, stream, cursor, size, trust, priority, flight, signal, attemptsInDoubt, toWrite } =
    request;
  const { job } = dataset;
  const paging = job.paginator.request(cursor, size);
  const scope = job.scopes === undefined ? {} : { [job.scopes.param]: stream.scope };
  const bounds = job.index.of === 'lt' ? await boundsOf(lts, paging, { priority, signal }) : {};
  const window = windowOf(paging);
  let accept: () => void = () => undefined;
  const page = await api.get({
    path: job.path,
    params: { ...job.params, ...scope, ...paging, ...bounds },
    priority,
    flight,
    signal,
    attemptsInDoubt,
    readBytes: async (bytes, { limit = paging.limit, turn }): Promise<PageRead> => {
      const body = await readBody(job, bytes, turn);
      const { records, reading, echo } = body;
      requireScope(dataset, stream, reading);
      const verdict = trust.judge({ asked: limit, window, positions: reading.positions });
      const seen = { ...reading, echo, size: verdict.size, until: window.until };
      const step = job.paginator.next(cursor, seen);
      accept = verdict.accept;
      if (toWrite === undefined) return { records, reading, step };
      await turn();
      const content = contentOf(job.tables, inside([reading], toWrite));
      body.release();
      return { records: [], reading: { ...reading, accepted: [], rejected: [] }, step, content };
    },
  });
  accept();
  if (page.value.step.cursor === undefined) trust.ended();
  return page;
}

/** Refuses rows of another pool than the requested one: they would count as confirmed by that pool's own readings. */
function requireScope(
  { job: { scopes } }: Dataset,
  { scope }: PageRequest['stream'],
  { accepted }: Pick<RecordsReading, 'accepted'>,
): void {
  if (scopes === undefined) return;
  for (const { position, rows } of accepted) {
    const own = Object.values(rows).flatMap((of) => of ?? []);
    if (own.some((row) => Reflect.get(row, scopes.column) !== scope))
      throw new BadResponseError(`${position.id} is not of ${scope}, which was asked for`);
  }
}

function windowOf(paging: Params): Parameters<SpanTrust['judge']>[0]['window'] {
  return {
    until: Number(paging['end_utime']) + 1,
    startLt: boundOf(paging['start_lt']),
    endLt: boundOf(paging['end_lt']),
    offset: Number(paging['offset'] ?? 0),
  };
}

/** Adds the bounds of logical time to a window, unless it already has its own. */
async function boundsOf(
  lts: LtBounds,
  paging: Params,
  asking: Parameters<LtBounds['of']>[1],
): Promise<Params> {
  const seconds = { from: Number(paging['start_utime']), to: Number(paging['end_utime']) + 1 };
  const { start, end } = await lts.of(seconds, asking);
  const [low, high] = [boundOf(paging['start_lt']) ?? start, boundOf(paging['end_lt']) ?? end];
  return { start_lt: low?.toString(), end_lt: high?.toString() };
}

function boundOf(param: Params[string]): bigint | undefined {
  return param === undefined ? undefined : BigInt(String(param));
}
