import type * as z from 'zod';
import { CLOSE_LIST, COMMA, NOWHERE, OPEN, valueEnd } from './json-bytes.ts';
import { layoutOf } from './layout.ts';
import type { Layout } from './object-layout.ts';
import { RecordReader } from './record-reader.ts';

/** A body that was read where its records stand. */
export interface ReadList {
  /** Views of records that fit, with strings that are bytes; any other one parsed. */
  readonly records: readonly unknown[];
  /** The body as text without its records. */
  readonly rest: string;
  /** Nobody reads the views any more, nor what is read of them when it is asked for. */
  readonly release: () => void;
}

interface ListBody {
  readonly bytes: Buffer;
  /** The member that holds the records. */
  readonly list: string;
  readonly record: z.ZodType;
  /** Reads a record that has to be parsed. */
  readonly parse: (text: string) => unknown;
  /** Lets others have the thread, every few milliseconds. */
  readonly turn: () => Promise<void>;
}

/** Records that are read in some two milliseconds. */
const SLICE = 100;

/**
 * Reads the records of a body that begins with their list. Undefined for a body of another form, a schema that changes what
 * it reads, and what is no JSON: such a body has to be parsed as a whole.
 */
export async function readList({
  bytes,
  list,
  record,
  parse,
  turn,
}: ListBody): Promise<ReadList | undefined> {
  const layout = layoutOf(record);
  const head = `{${JSON.stringify(list)}:[`;
  if (layout === null || !bytes.subarray(0, head.length).equals(Buffer.from(head))) return undefined;
  const reader = new RecordReader(bytes);
  reader.at = head.length;
  const records = await recordsOf(reader, layout, { parse, turn });
  if (records === undefined) return undefined;
  const tail = bytes.toString('latin1', reader.at);
  // A list that is sent twice makes the body a bad one.
  const mayComeTwice = tail.includes(JSON.stringify(list)) || ESCAPED_NAME.test(tail);
  if (mayComeTwice) return undefined;
  return {
    records,
    rest: `${head}]${tail}`,
    release: () => {
      reader.page.release();
    },
  };
}

/** The name of a member that may be any. */
const ESCAPED_NAME = /\\[^"]*"\s*:/;

async function recordsOf(
  reader: RecordReader,
  layout: Layout,
  { parse, turn }: Pick<ListBody, 'parse' | 'turn'>,
): Promise<unknown[] | undefined> {
  const { page } = reader;
  const { bytes } = page;
  const records: unknown[] = [];
  if (reader.passes(CLOSE_LIST)) return records;
  do {
    if (records.length % SLICE === SLICE - 1) await turn();
    const start = reader.at;
    const view = reader.record(layout);
    if (view === undefined) {
      // Numbers are read exactly where they stand in something.
      if (bytes[start] !== OPEN) return undefined;
      const end = valueEnd(bytes, start, false);
      if (end === NOWHERE) return undefined;
      records.push(parse(page.textAt(start, end)));
      reader.at = end;
    } else records.push(view);
  } while (reader.passes(COMMA));
  return reader.passes(CLOSE_LIST) ? records : undefined;
}
