import { createHash } from 'node:crypto';
import { readSeconds } from '../../range.ts';
import type { Position } from './paginator.ts';

/** The members that contain a record's position, even if its schema refuses it. */
export interface PositionMembers {
  /** Unix seconds, a number or a string of digits. */
  readonly utime: string;
  /** Logical time; omitted if the records have none. */
  readonly lt?: string;
  /** What distinguishes it from its neighbors: texts or numbers. */
  readonly id: readonly string[];
  /** Separates the parts of `id`. Default: a slash. */
  readonly separator?: string;
}

/** Undefined if the record does not contain its position. */
export function readPosition(members: PositionMembers, raw: unknown): Position | undefined {
  if (!isRecord(raw)) return undefined;
  const utime = readSeconds(raw[members.utime]);
  const id = readId(members, raw);
  if (utime === undefined || id === undefined) return undefined;
  const lt = members.lt === undefined ? '0' : raw[members.lt];
  return { utime, lt: typeof lt === 'string' ? lt : '0', id };
}

/** Undefined if it is not a logical time: a record in quarantine may contain anything. */
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

/** Record ids are keys of an index, which limits their length. The API has no longer id, so its digest replaces it. */
const LONGEST_NAME = 300;

export function nameable(name: string): string {
  return name.length > LONGEST_NAME ? createHash('sha256').update(name).digest('base64') : name;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
