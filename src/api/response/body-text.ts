import type { Strings } from '../../dataset/strings.ts';

/** An escape of a character that is no ASCII, or NUL: what it stands for would be taken for bytes. */
const FAR_ESCAPE = /\\u(?!00[0-7])|\\u0000/;
/** It can be known by so many bytes. */
const ESCAPE_BYTES = '\\u0000'.length;

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

/** True of a body that means the same where its strings are taken for bytes. */
export function canBeBytes(body: Buffer): boolean {
  for (let at = body.indexOf('\\u'); at >= 0; at = body.indexOf('\\u', at + 1))
    if (FAR_ESCAPE.test(body.toString('latin1', at, at + ESCAPE_BYTES))) return false;
  return true;
}
