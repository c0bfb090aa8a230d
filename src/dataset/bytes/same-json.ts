import {
  CLOSE,
  CLOSE_LIST,
  COLON,
  COMMA,
  isDigit,
  NOWHERE,
  OPEN,
  OPEN_LIST,
  plainEnd,
  QUOTE,
} from './json-bytes.ts';
import { ANY_TEXT, textEnd } from './runs.ts';

/** What lies deeper, or has more names in the objects around it, is rather parsed. */
const DEEPEST = 32;
const MOST_NAMES = 64;

/** lossless-json prints an object with such a member as a number. */
const NUMBER_MARK = Buffer.from('isLosslessNumber');

/**
 * Finds values of JSON that would be parsed and printed again just as they stand: compact, without escapes, with numbers that
 * JavaScript has, and with members that it keeps in their order. It says so of no other value, but not of each of these.
 */
export class SameJson {
  private readonly bytes: Uint8Array;
  /** The beginnings and the lengths of the names in the objects around the byte that is read next. */
  private readonly names = new Int32Array(2 * MOST_NAMES);
  private used = 0;
  private depth = 0;
  private at = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  /** The end of the value that begins there; NOWHERE for another one. */
  endOf(start: number): number {
    [this.at, this.used, this.depth] = [start, 0, 0];
    return this.value() ? this.at : NOWHERE;
  }

  private value(): boolean {
    const first = this.bytes[this.at];
    if (first === QUOTE) return this.text();
    if (first === OPEN) return this.object();
    return first === OPEN_LIST ? this.list() : this.passTo(plainEnd(this.bytes, this.at));
  }

  private text(): boolean {
    const end = textEnd(this.bytes, this.at + 1, ANY_TEXT);
    return this.passTo(end === NOWHERE ? end : end + 1);
  }

  private list(): boolean {
    this.at += 1;
    if (this.passes(CLOSE_LIST)) return true;
    this.depth += 1;
    if (this.depth > DEEPEST) return false;
    do if (!this.value()) return false;
    while (this.passes(COMMA));
    this.depth -= 1;
    return this.passes(CLOSE_LIST);
  }

  private object(): boolean {
    this.at += 1;
    if (this.passes(CLOSE)) return true;
    const first = this.used;
    this.depth += 1;
    if (this.depth > DEEPEST) return false;
    do if (!this.name(first) || !this.passes(COLON) || !this.value()) return false;
    while (this.passes(COMMA));
    this.depth -= 1;
    this.used = first;
    return this.passes(CLOSE);
  }

  /** A name that its object, whose names begin at `first`, does not have yet. What begins with a digit may be an index. */
  private name(first: number): boolean {
    const { bytes, names, used } = this;
    const start = this.at + 1;
    if (bytes[this.at] !== QUOTE || isDigit(bytes[start]) || !this.text()) return false;
    const length = this.at - 1 - start;
    for (let other = first; other < used; other += 2)
      if (names[other + 1] === length && this.isSame(names[other] ?? 0, start, length)) return false;
    names[used] = start;
    names[used + 1] = length;
    this.used += 2;
    const isMark = length === NUMBER_MARK.length && NUMBER_MARK.equals(bytes.subarray(start, start + length));
    return this.used < names.length && !isMark;
  }

  private isSame(one: number, other: number, length: number): boolean {
    const { bytes } = this;
    let index = 0;
    while (index < length && bytes[one + index] === bytes[other + index]) index += 1;
    return index === length;
  }

  private passTo(end: number): boolean {
    if (end === NOWHERE) return false;
    this.at = end;
    return true;
  }

  private passes(byte: number): boolean {
    if (this.bytes[this.at] !== byte) return false;
    this.at += 1;
    return true;
  }
}
