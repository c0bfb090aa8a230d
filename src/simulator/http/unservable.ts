import { createHash } from 'node:crypto';
import type { Faults, UnservableRows } from '../faults.ts';
import { errorResponse, jsonResponse, type HttpResponse } from './response.ts';

/** The real server's error for a row that it cannot read from its database, or cannot print. */
const TEXTS = [
  "can't scan into dest[8]: cannot scan NULL into *string",
  '4294967296 is greater than maximum value for uint32',
  'json: unsupported value: NaN',
];

/** Members that identify a row: the first that exists counts. The identity decides whether the row can be served. */
const NAMES = ['action_id', 'complaint_hash', 'root_hash', 'hash', 'transaction_hash', 'tx_hash', 'trace_id'];
/** The same for rows without a hash. */
const NAMES_OF_OTHERS = ['nft_item_address', 'address', 'transaction_id'];

type Record = Readonly<{ [member: string]: unknown }>;

/** The error instead of a response with such a row; undefined if it has none. */
export function failureFor(
  path: string,
  response: HttpResponse,
  { unservable = [], unservableAs = '500' }: Faults,
): HttpResponse | undefined {
  const own = unservable.filter((rows) => rows.path === path);
  if (own.length === 0 || response.status !== 200) return undefined;
  const row = recordsOf(JSON.parse(response.body.toString())).find((record) =>
    own.some((rows) => isOne(rows, record)),
  );
  if (row === undefined) return undefined;
  const { length } = TEXTS;
  const text = TEXTS[Math.floor(shareOf(row) * length * 1000) % length] ?? '';
  if (unservableAs === 'timeout') return errorResponse(500, 'timeout: context deadline exceeded');
  if (unservableAs === 'broken') return jsonResponse(200, response.body.toString().slice(0, -7));
  const status = Number(unservableAs);
  return path.startsWith('/api/v2/')
    ? jsonResponse(status, JSON.stringify({ ok: false, error: text, code: status }))
    : errorResponse(status, text);
}

function isOne(rows: UnservableRows, record: Record): boolean {
  return 'share' in rows ? shareOf(record) < rows.share : String(record[rows.member]) === rows.value;
}

/** A number from 0 to 1 that a row always has. */
function shareOf(record: Record): number {
  const name = [...NAMES, ...NAMES_OF_OTHERS].find((member) => record[member] !== undefined);
  const text = JSON.stringify(name === undefined ? record : record[name]);
  return createHash('sha256').update(text).digest().readUInt32BE() / 2 ** 32;
}

/** The records of a body: the elements of its lists, of v2 its result. */
function recordsOf(body: unknown): Record[] {
  if (!isRecord(body)) return [];
  const { result } = body;
  if (isRecord(result)) return [result];
  return Object.values(body)
    .filter((member) => Array.isArray(member))
    .flat()
    .filter(isRecord);
}

function isRecord(value: unknown): value is Record {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
