import type { ApiClient } from '../../../api/client.ts';
import type { Exchange } from '../../../api/exchange.ts';
import { echoOf } from '../../../api/response/v3-echo.ts';
import { listOf } from '../../../api/response/v3-envelope.ts';
import type { Flight } from '../../../budget/flight.ts';
import type { Priority } from '../../../budget/priority.ts';
import type { Dataset } from '../../../dataset/dataset.ts';
import type { Reading } from '../../../dataset/job.ts';
import type { Params, Step } from '../../../dataset/paginator.ts';
import type { Strings } from '../../../dataset/strings.ts';
import type { Stream } from '../../../db/coverage/coverage.ts';
import type { SpanTrust } from './limit-trust.ts';
import type { LtBounds } from './lt-bounds.ts';
import { readRecords } from './read-records.ts';

interface PageRequest {
  readonly dataset: Dataset;
  readonly stream: Pick<Stream, 'scope'>;
  /** Where the dataset's paginator stands. */
  readonly cursor: unknown;
  /** The most rows to ask for. */
  readonly size: number;
  /** Whether a short page of this span may have been cut. */
  readonly trust: SpanTrust;
  readonly priority: Priority;
  /** Left out: the page has its place in memory until it is read. */
  readonly flight?: Flight;
  /** How the strings of the records may stand. Left out: as text, and each record goes through its schema. */
  readonly strings?: Strings;
  readonly signal: AbortSignal;
}

/** What a page is asked of. */
export interface Asking {
  readonly api: ApiClient;
  readonly lts: LtBounds;
}

/** A page of a stream: its records as they came, as they were read, and what the page means for the span. */
export interface Page {
  readonly records: readonly unknown[];
  readonly reading: Reading;
  readonly step: Step<unknown>;
}

/**
 * Asks for one page of a stream and reads it: the only way in which a page is asked for, whatever for.
 * @throws BadResponseError where the response cannot be one to this request, also by the window that it says it answers
 */
export async function askPage(
  { api, lts }: Asking,
  { dataset: { job }, stream, cursor, size, trust, priority, flight, signal, strings }: PageRequest,
): Promise<Exchange<Page>> {
  const paging = job.paginator.request(cursor, size);
  const scope = job.scopes === undefined ? {} : { [job.scopes.param]: stream.scope };
  const bounds = job.index.of === 'lt' ? await boundsOf(lts, paging, { priority, signal }) : {};
  const recordsIn = listOf(job.list);
  let accept: () => void = () => undefined;
  const page = await api.get({
    path: job.path,
    params: { ...job.params, ...scope, ...paging, ...bounds },
    priority,
    flight,
    signal,
    strings,
    parse: (body, form, limit): Page => {
      const records = recordsIn(body);
      const reading = readRecords(job, records, strings && form);
      const verdict = trust.judge({
        asked: limit ?? paging.limit,
        window: {
          until: Number(paging['end_utime']) + 1,
          startLt: boundOf(paging['start_lt']),
          endLt: boundOf(paging['end_lt']),
          offset: Number(paging['offset'] ?? 0),
        },
        positions: reading.positions,
      });
      const until = Number(paging['end_utime']) + 1;
      const step = job.paginator.next(cursor, { ...reading, size: verdict.size, until, echo: echoOf(body) });
      accept = verdict.accept;
      return { records, reading, step };
    },
  });
  accept();
  if (page.value.step.cursor === undefined) trust.ended();
  return page;
}

/** The window's seconds as logical times too, no wider than it has them already. */
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
