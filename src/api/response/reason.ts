import * as z from 'zod';
import { printable } from '../../terminal/terminal.ts';
import { messageOf } from '../../errors.ts';

const MAX_LENGTH = 300;

/** Every form of error that the servers and their gateways are known to send. */
const errorBody = z.looseObject({
  error: z.union([z.string(), z.looseObject({ message: z.string() })]).optional(),
  result: z.unknown().optional(),
  message: z.string().optional(),
  detail: z.unknown().optional(),
});

/** The error text of a body. */
export interface Reason {
  /** True if the body is JSON with an error text, as the API sends it; false for pages of gateways. */
  readonly own: boolean;
  /** One short line. */
  readonly text: string;
}

/** Extracts the error text of a response without success. Never throws. */
export function reasonOf(body: string): Reason {
  const text = ownText(body);
  return text === undefined ? { own: false, text: excerpt(body) } : { own: true, text: oneLine(text) };
}

/** The beginning of a body that the API did not send, as one short line. */
export function excerpt(body: string): string {
  if (body.trim() === '') return 'an empty body';
  if (!/^\s*</.test(body)) return oneLine(body.slice(0, 2 * MAX_LENGTH));
  const title = /<(title|h1)[^>]*>([^<]*)</i.exec(body.slice(0, 10_000))?.[2];
  return title === undefined ? 'an HTML page' : `an HTML page "${oneLine(title)}"`;
}

/** The first issue of a schema's error, with its path; the message of any other error. */
export function summary(error: unknown): string {
  if (error instanceof z.ZodError) {
    const [issue] = error.issues;
    const path = issue?.path.map(String).join('.') ?? '';
    return oneLine(`${path === '' ? 'the body' : path}: ${issue?.message ?? 'does not fit'}`);
  }
  return oneLine(messageOf(error));
}

function ownText(body: string): string | undefined {
  const parsed = errorBody.safeParse(jsonOrNothing(body));
  if (!parsed.success) return undefined;
  const { error, result, message, detail } = parsed.data;
  if (typeof error === 'string') return error;
  // Recorded 429s have their text in `result`, and a Python framework puts its own in `detail`.
  return error?.message ?? [result, message, detail].find((text) => typeof text === 'string');
}

function jsonOrNothing(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

function oneLine(text: string): string {
  const line = printable(text.replaceAll(/\s+/g, ' ').trim());
  return line.length > MAX_LENGTH ? `${line.slice(0, MAX_LENGTH)}…` : line;
}
