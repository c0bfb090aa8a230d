import { stringify } from 'lossless-json';
import { formatTime } from '../range.ts';
import { wordsOf, type BodyPage, takeMemory } from '../dataset/bytes/view.ts';

/** Room for a row of the widest table if all values are short. */
const ROW_BYTES = 2 ** 18;
const SHORT = 1024;
/** Below this number of characters, a loop is faster than the call that copies a text. */
const BRIEF = 48;
/** Bytes that are copied at once. */
const WORD = 4;
const TAB = 9;
const NEWLINE = 10;
const BACKSLASH = 92;
const LETTER_N = 78;
const ESCAPED = /[\\\t\n\r]/;

/**
 * Lines in the text format of Postgres' COPY, as bytes, in one buffer that is reused for every page. Each value is
 * followed by a tab, the last one by the end of the line. A value that is absent or null is null, even in a column of
 * JSON. Numbers that a double cannot hold (BigInt, LosslessNumber) keep all digits.
 */
export class CopyBuffer {
  private buffer = Buffer.allocUnsafeSlow(2 ** 22);
  private words = wordsOf(this.buffer);
  private at = 0;

  clear(): void {
    this.at = 0;
  }

  /** The position at which the next line begins. */
  get length(): number {
    return this.at;
  }

  beginLine(): void {
    this.reserve(ROW_BYTES);
  }

  endLine(): void {
    this.buffer[this.at - 1] = NEWLINE;
  }

  /** Appends the line of a row object. */
  row(columns: readonly CopyColumn[], row: Readonly<Record<string, unknown>>): void {
    this.beginLine();
    for (const { name, kind } of columns) {
      if (kind === 'json') this.json(row[name]);
      else if (kind === 'array') this.array(row[name]);
      else this.any(row[name]);
    }
    this.endLine();
  }

  /** A copy of what was written, in memory of its own, which `giveMemory` may take. */
  take(): Uint8Array {
    const copy = new Uint8Array(takeMemory(this.at), 0, this.at);
    copy.set(this.buffer.subarray(0, this.at));
    return copy;
  }

  /** Appends a time, given in unix seconds, as ASCII text. */
  moment(value: unknown): void {
    if (value === null || value === undefined) this.nothing();
    else this.ascii(formatTime(Number(value)));
  }

  /** Appends a value of a column that is neither JSON nor an array. */
  any(value: unknown): void {
    if (value === null || value === undefined) this.nothing();
    else if (typeof value === 'string') this.text(value);
    else if (typeof value === 'number' || typeof value === 'boolean') this.ascii(String(value));
    else this.text(toJson(value));
  }

  json(value: unknown): void {
    if (typeof value === 'string') this.text(toJson(value));
    else this.any(value);
  }

  array(value: unknown): void {
    if (Array.isArray(value)) this.text(toArray(value));
    else this.any(value);
  }

  /**
   * Copies values of the body that are noted in slots, counted from a first one. The body's reader notes no text with a
   * backslash or a control character, so COPY has nothing to escape. JSON that must be written in another form was
   * parsed.
   */
  copySlots(page: BodyPage, first: number, slots: Int32Array): void {
    for (let index = 0; index < slots.length; index += 1) {
      const at = 2 * (first + (slots[index] ?? 0));
      const start = page.slots[at] ?? 0;
      const end = page.slots[at + 1] ?? 0;
      if (start <= 0) this.nothing();
      else if (end < 0) this.json(page.values[~end]);
      else this.bytes(page, start, end);
    }
  }

  /** Copies four bytes at a time, even if fewer are left: the next value overwrites the surplus. */
  private bytes({ bytes, words }: BodyPage, start: number, end: number): void {
    const length = end - start;
    if (length > SHORT) this.reserve(length + ROW_BYTES);
    const { at } = this;
    const to = this.words;
    if (end + WORD > bytes.length) this.buffer.set(bytes.subarray(start, end), at);
    else
      for (let from = 0; from < length; from += WORD)
        to.setInt32(at + from, words.getInt32(start + from, true), true);
    this.buffer[at + length] = TAB;
    this.at = at + length + 1;
  }

  private nothing(): void {
    const { buffer, at } = this;
    buffer[at] = BACKSLASH;
    buffer[at + 1] = LETTER_N;
    buffer[at + 2] = TAB;
    this.at = at + 3;
  }

  private ascii(text: string): void {
    const { length } = text;
    if (length > SHORT) this.reserve(length + ROW_BYTES);
    const { buffer } = this;
    let { at } = this;
    if (length < BRIEF) for (let index = 0; index < length; index++) buffer[at++] = text.charCodeAt(index);
    else at += buffer.write(text, at, 'latin1');
    buffer[at] = TAB;
    this.at = at + 1;
  }

  private text(text: string): void {
    const escaped = ESCAPED.test(text) ? escapeCopy(text) : text;
    if (escaped.length > SHORT) this.reserve(escaped.length * 3 + ROW_BYTES);
    const { buffer } = this;
    const at = this.at + buffer.write(escaped, this.at, 'utf8');
    buffer[at] = TAB;
    this.at = at + 1;
  }

  private reserve(bytes: number): void {
    if (this.at + bytes <= this.buffer.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(this.buffer.length * 2, this.at + bytes));
    this.buffer.copy(larger, 0, 0, this.at);
    this.buffer = larger;
    this.words = wordsOf(larger);
  }
}

/** A column that is written. In a `json` column a string is JSON, too, and is quoted; an `array` holds texts. */
export interface CopyColumn {
  readonly name: string;
  readonly kind: 'text' | 'json' | 'array';
}

const EACH_SPECIAL = /[\\\t\n\r]/g;
const ESCAPES: Readonly<Record<string, string>> = { '\t': '\\t', '\n': '\\n', '\r': '\\r' };

/** Escapes the characters that end values and lines. */
function escapeCopy(text: string): string {
  return text.replace(EACH_SPECIAL, (found) => ESCAPES[found] ?? `\\${found}`);
}

/** An array in the notation of Postgres, with each element in quotes. */
function toArray(values: readonly unknown[]): string {
  return `{${values.map((value) => `"${String(value).replaceAll(/[\\"]/g, String.raw`\$&`)}"`).join(',')}}`;
}

/** JSON.stringify throws on a BigInt and serializes a LosslessNumber as an object: both take the slower path. */
export function toJson(value: unknown): string {
  try {
    const text = JSON.stringify(value);
    if (!text.includes('"isLosslessNumber"')) return text;
  } catch {
    // Serialized below.
  }
  return stringify(value) ?? 'null';
}
