import { createHash } from 'node:crypto';
import { stringify } from 'lossless-json';
import type { core, ZodType } from 'zod';
import { doubledWithin, TWICE } from './doubled.ts';

/** Members of a record that its schema does not name, by dotted path (`description.compute_ph.new_member`). */
export type Extra = Readonly<Record<string, unknown>>;

/** No unknown members, as in nearly every record. */
export const NOTHING: Extra = {};

/** The result of parsing one record with its schema. */
export type RecordReading<Rec> =
  | { readonly ok: true; readonly record: Rec; readonly extra: Extra }
  | { readonly ok: false; readonly path: string; readonly reason: string };

/**
 * Parses one record with a strict schema. Members that the schema does not name are removed and returned as
 * `extra`: the API has grown, and the record is valid. Any other mismatch is returned with its path.
 */
export function readRecord<Rec>(
  schema: ZodType<Rec>,
  { raw, canonical }: { readonly raw: unknown; readonly canonical: unknown },
): RecordReading<Rec> {
  const twice = doubledWithin(schema, raw);
  if (twice !== undefined) return { ok: false, path: dotted(twice), reason: TWICE };
  const first = schema.safeParse(canonical);
  if (first.success) return { ok: true, record: first.data, extra: NOTHING };
  const grown = first.error.issues.filter(isGrowth);
  const mismatch = first.error.issues.find((issue) => !isGrowth(issue));
  if (mismatch !== undefined || grown.length === 0) return refusal(mismatch);
  const copy = structuredClone(canonical);
  const extra: Record<string, unknown> = {};
  for (const { path, keys } of grown) {
    for (const key of keys) takeOut(copy, [...path, key], extra);
  }
  const second = schema.safeParse(copy);
  return second.success ? { ok: true, record: second.data, extra } : refusal(second.error.issues[0]);
}

function isGrowth(issue: core.$ZodIssue): issue is core.$ZodIssueUnrecognizedKeys {
  return issue.code === 'unrecognized_keys';
}

function refusal(issue: core.$ZodIssue | undefined): RecordReading<never> {
  return { ok: false, path: dotted(issue?.path ?? []), reason: issue?.message ?? 'does not fit its schema' };
}

function dotted(path: readonly PropertyKey[]): string {
  return path.map(String).join('.');
}

function takeOut(holder: unknown, path: readonly PropertyKey[], into: Record<string, unknown>): void {
  const parent = path
    .slice(0, -1)
    .reduce<unknown>((value, key) => (isObject(value) ? value[key] : undefined), holder);
  const key = path.at(-1);
  if (!isObject(parent) || key === undefined) return;
  into[dotted(path)] = parent[key];
  Reflect.deleteProperty(parent, key);
}

function isObject(value: unknown): value is Record<PropertyKey, unknown> {
  return typeof value === 'object' && value !== null;
}

/** `extra` as a row stores it: null if it is empty. */
export function orNull(extra: Extra): Extra | null {
  return Object.keys(extra).length === 0 ? null : extra;
}

/** The part of `extra` below `prefix` (one or two names), without the prefix; null if there is none. */
export function extraWithin(extra: Extra, prefix: string): Extra | null {
  if (extra === NOTHING) return null;
  const inside = byPrefix(extra).get(prefix) ?? [];
  return orNull(Object.fromEntries(inside.map(([path, value]) => [path.slice(prefix.length + 1), value])));
}

const grouped = new WeakMap<Extra, ReadonlyMap<string, readonly [string, unknown][]>>();

/** Groups the paths by their first name and by their first two: a record of thousands of parts looks up each group. */
function byPrefix(extra: Extra): ReadonlyMap<string, readonly [string, unknown][]> {
  const known = grouped.get(extra);
  if (known !== undefined) return known;
  const groups = new Map<string, [string, unknown][]>();
  for (const [path, value] of Object.entries(extra)) {
    const [first = '', second] = path.split('.', 2);
    for (const prefix of [first, `${first}.${second}`]) {
      if (!path.startsWith(`${prefix}.`)) continue;
      const group = groups.get(prefix);
      if (group === undefined) groups.set(prefix, [[path, value]]);
      else group.push([path, value]);
    }
  }
  grouped.set(extra, groups);
  return groups;
}

/** `extra` without the paths below the prefixes; null if nothing is left. */
export function extraOutside(extra: Extra, prefixes: readonly string[]): Extra | null {
  if (extra === NOTHING) return null;
  const outside = Object.entries(extra).filter(
    ([path]) => !prefixes.some((prefix) => path.startsWith(`${prefix}.`)),
  );
  return orNull(Object.fromEntries(outside));
}

/** True for a member that was sent empty. Its columns alone would say that it was not sent. */
export function isEmpty(member: object | null | undefined): member is object {
  return member != null && Object.values(member).every((value) => value == null);
}

/** Identifies a record without an id of its own: the SHA-256 of its JSON, in base64. */
export function hashOf(raw: unknown): string {
  return createHash('sha256')
    .update(stringify(raw) ?? '')
    .digest('base64');
}
