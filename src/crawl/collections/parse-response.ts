import * as z from 'zod';
import type { Endpoint, ResponseShape } from '../../dataset/walk.ts';
import { BadResponseError } from '../../errors.ts';

const Body = z.record(z.string(), z.unknown());
const List = z.array(z.unknown());

/** The records of a body, as they came. */
export function recordsOf(shape: ResponseShape, body: unknown): unknown[] {
  if (shape === 'one') return [body];
  if (shape === 'array') return List.parse(body);
  if (shape === 'map') return entriesOf(body);
  const member = Body.parse(body)[shape.member];
  if (member === undefined) throw new BadResponseError(`the response has no ${shape.member}`);
  return member === null ? [] : List.parse(member);
}

/** A map's values, each with its key as `address`. */
export function entriesOf(map: unknown): unknown[] {
  return Object.entries(Body.parse(map)).map(([address, entry]) => ({ address, ...Body.parse(entry) }));
}

/** The maps that v3 sends with its records: names and token data of the addresses in them. */
export function mapsOf(
  endpoint: Endpoint,
  shape: ResponseShape,
  body: unknown,
): Readonly<Record<string, unknown>> {
  return 'path' in endpoint && typeof shape === 'object' ? Body.parse(body) : {};
}
