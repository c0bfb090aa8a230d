import type { Strings } from '../../dataset/strings.ts';

/** A body as a string, whose characters are text or bytes. */
export interface BodyText {
  readonly text: string;
  readonly strings: Strings;
}

/** A body that is UTF-8, in the form that is wanted where its meaning allows it. */
export function readBody(body: Buffer, wanted: Strings): BodyText {
  return wanted === 'bytes' && canBeBytes(body)
    ? { text: body.toString('latin1'), strings: 'bytes' }
    : { text: body.toString('utf8'), strings: 'text' };
}

const ESCAPE = '\\u';
const ZERO = 48;
const SEVEN = 55;

/**
 * True of a body that means the same where its strings are taken for bytes: none of its escapes is of NUL, or of what is no
 * ASCII.
 */
export function canBeBytes(body: Buffer): boolean {
  for (let at = body.indexOf(ESCAPE); at >= 0; at = body.indexOf(ESCAPE, at + 1))
    if (!isNear(body, at + ESCAPE.length)) return false;
  return true;
}

/** True of the digits of a character from U+0001 to U+007F. */
function isNear(body: Buffer, at: number): boolean {
  const third = body[at + 2] ?? 0;
  if (body[at] !== ZERO || body[at + 1] !== ZERO || third < ZERO || third > SEVEN) return false;
  return third !== ZERO || body[at + 3] !== ZERO;
}
