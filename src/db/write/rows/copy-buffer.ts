import { formatTime } from '../../../range.ts';
import type { Page } from '../../../dataset/bytes/view.ts';
import type { Strings } from '../../../dataset/strings.ts';
import { escapeCopy, toArray, toJson } from './copy-text.ts';

/** Room for a row of the widest table whose values are all short. */
const ROW_BYTES = 2 ** 18;
const SHORT = 1024;
/** A text of fewer characters is copied sooner than a call that copies it would begin. */
const BRIEF = 48;
/** The same of bytes. */
const BRIEF_BYTES = 128;
const TAB = 9;
const NEWLINE = 10;
const BACKSLASH = 92;
const LETTER_N = 78;
const ESCAPED = /[\\\t\n\r]/;

/** Text of a number, a bigint or a boolean. */
function textOf(value: unknown): string {
  return `${typeof value === 'number' || typeof value === 'boolean' ? value : toJson(value)}`;
}

/**
 * Lines in the text format of COPY, as bytes, in one buffer that is used again for every page: what `toCopyText` makes of
 * row objects, value by value. Each value is followed by a tab, the last one by the end of the line.
 */
export class CopyBuffer {
  private buffer = Buffer.allocUnsafeSlow(2 ** 22);
  private at = 0;
  private strings: Strings = 'text';

  /** Forgets what was written. */
  clear(): void {
    this.at = 0;
  }

  /** Where the next line begins. */
  get length(): number {
    return this.at;
  }

  /** Begins a line; its strings stand so in memory. */
  beginLine(strings: Strings): void {
    this.strings = strings;
    this.reserve(ROW_BYTES);
  }

  endLine(): void {
    this.buffer[this.at - 1] = NEWLINE;
  }

  /** A line that stands as text. */
  line(text: string): void {
    this.reserve(text.length * 3);
    this.at += this.buffer.write(text, this.at);
  }

  /** A copy of what was written, in memory of its own: it may be sent to another thread. */
  take(): Uint8Array {
    return new Uint8Array(this.buffer.subarray(0, this.at));
  }

  /** A value that has no character that COPY escapes, and is ASCII. */
  plain(value: unknown): void {
    if (value === null || value === undefined) this.nothing();
    else this.ascii(typeof value === 'string' ? value : textOf(value));
  }

  /** Unix seconds. */
  moment(value: unknown): void {
    if (value === null || value === undefined) this.nothing();
    else this.ascii(formatTime(Number(value)));
  }

  /** A value of a column that is neither JSON nor an array. */
  any(value: unknown): void {
    if (value === null || value === undefined) this.nothing();
    else if (typeof value === 'string') this.text(value);
    else if (typeof value === 'object') this.text(toJson(value));
    else this.ascii(textOf(value));
  }

  json(value: unknown): void {
    if (value === null || value === undefined) this.nothing();
    else if (typeof value === 'number' || typeof value === 'boolean') this.ascii(String(value));
    else this.text(toJson(value));
  }

  array(value: unknown): void {
    if (Array.isArray(value)) this.text(toArray(value));
    else this.any(value);
  }

  /** The value that is noted in a slot, as it stands in its body: it has nothing that COPY escapes. */
  standing({ bytes, slots }: Pick<Page, 'bytes' | 'slots'>, slot: number): void {
    const start = slots[2 * slot] ?? 0;
    if (start <= 0) this.nothing();
    else this.bytes(bytes, start, slots[2 * slot + 1] ?? start);
  }

  /** The same of JSON: what does not stand as it is to be written was parsed. */
  standingJson(page: Pick<Page, 'bytes' | 'slots' | 'values'>, slot: number): void {
    const end = page.slots[2 * slot + 1] ?? 0;
    // The end of a null is below 0, too.
    if (end < 0 && (page.slots[2 * slot] ?? 0) > 0) this.json(page.values[~end]);
    else this.standing(page, slot);
  }

  private bytes(bytes: Uint8Array, start: number, end: number): void {
    const length = end - start;
    if (length > SHORT) this.reserve(length + ROW_BYTES);
    const { buffer } = this;
    let { at } = this;
    if (length < BRIEF_BYTES) for (let from = start; from < end; from++) buffer[at++] = bytes[from] ?? 0;
    else {
      buffer.set(bytes.subarray(start, end), at);
      at += length;
    }
    buffer[at] = TAB;
    this.at = at + 1;
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
    const at = this.at + buffer.write(escaped, this.at, this.strings === 'bytes' ? 'latin1' : 'utf8');
    buffer[at] = TAB;
    this.at = at + 1;
  }

  private reserve(bytes: number): void {
    if (this.at + bytes <= this.buffer.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(this.buffer.length * 2, this.at + bytes));
    this.buffer.copy(larger, 0, 0, this.at);
    this.buffer = larger;
  }
}
