import { createHash } from 'node:crypto';
import { readSeconds } from '../../range.ts';
import type { Position } from './paginator.ts';

/** Which members say where a record lies: also of one that its schema refuses. */
export interface PositionMembers {
  /** Unix seconds, a number or a string of digits. */
  readonly utime: string;
  /** Logical time; left out where the records have none. */
  readonly lt?: string;
  /** What tells it from its neighbours: texts or numbers. */
  readonly id: readonly string[];
  /** Between the parts of `id`. Default: a slash. */
  readonly separator?: string;
}

/** Undefined for a record that does not say where it lies. */
export function readPosition(members: PositionMembers, raw: unknown): Position | undefined {
  if (!isRecord(raw)) return undefined;
  const utime = readSeconds(raw[members.utime]);
  const id = readId(members, raw);
  if (utime === undefined || id === undefined) return undefined;
  const lt = members.lt === undefined ? '0' : raw[members.lt];
  return { utime, lt: typeof lt === 'string' ? lt : '0', id };
}

/** Undefined for no logical time: a record that does not fit may lie in quarantine with any. */
export function readLt(lt: string): bigint | undefined {
  return /^\d{1,19}$/.test(lt) ? BigInt(lt) : undefined;
}

function readId({ id, separator = '/' }: PositionMembers, raw: Readonly<Record<string, unknown>>) {
  let read = '';
  for (const [index, name] of id.entries()) {
    const part = raw[name];
    if (typeof part !== 'string' && typeof part !== 'number') return undefined;
    read += index === 0 ? String(part) : `${separator}${part}`;
  }
  return nameable(read);
}

/** Names of records are keys, which an index bounds: a longer one is no name that the API has, and its digest has to do. */
const LONGEST_NAME = 300;

export function nameable(name: string): string {
  return name.length > LONGEST_NAME ? createHash('sha256').update(name).digest('base64') : name;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
