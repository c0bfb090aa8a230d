import type { Strings } from '../../dataset/strings.ts';

/** An escape of a character that is no ASCII, or NUL: what it stands for would be taken for bytes. */
const FAR_ESCAPE = /\\u(?!00[0-7])|\\u0000/;

/** A body as a string, whose characters are text or bytes. */
export interface BodyText {
  readonly text: string;
  readonly strings: Strings;
}

/** A body that is UTF-8, in the form that is wanted where its meaning allows it. */
export function readBody(body: Buffer, wanted: Strings): BodyText {
  if (wanted === 'bytes') {
    const text = body.toString('latin1');
    if (!body.includes('\\u') || !FAR_ESCAPE.test(text)) return { text, strings: 'bytes' };
  }
  return { text: body.toString('utf8'), strings: 'text' };
}
