import { hasOrder, type Column } from './cells.ts';

const INTEGER = /^(integer|bigint|numeric|smallint)/;
const REAL = /^(double|real)/;

/** A number or a time, so much later or greater. */
export function stepped({ type }: Column, value: string, by: number): string {
  if (type.startsWith('timestamp')) return new Date(Date.parse(value) + 1000 * by).toISOString();
  return REAL.test(type) ? String(Number(value) + by) : String(BigInt(value) + BigInt(by));
}

/** Another value of the same form: a neighboring one, as from a mistake of the source. */
export function changed(column: Column, value: string): string {
  const { type, name, isKey } = column;
  if (type === 'boolean') return String(value !== 'true');
  if (type === 'jsonb') return changedJson(value);
  // The next index often exists already.
  if (hasOrder(column)) return stepped(column, value, isKey && INTEGER.test(type) ? 900 : 1);
  return name === 'shard' || name.endsWith('_shard') ? changedShard(value) : changedText(value);
}

/** A value of the column's form, if no row has any. */
export function invented({ type, name }: Column): string {
  if (type === 'boolean') return 'true';
  if (type === 'jsonb') return '{"invented":1}';
  if (type.startsWith('timestamp')) return '2026-06-01T00:03:00Z';
  if (INTEGER.test(type) || REAL.test(type)) return '1';
  if (/hash|_id$/.test(name)) return `${'A'.repeat(43)}=`;
  return 'invented';
}

function changedJson(text: string): string {
  const value: unknown = JSON.parse(text);
  if (Array.isArray(value)) return JSON.stringify([...(value as unknown[]), 1]);
  if (typeof value === 'object' && value !== null) return JSON.stringify({ ...value, altered: 1 });
  return JSON.stringify(`${String(value)}x`);
}

/** A hash, an address or an opcode keeps its form. */
function changedText(text: string): string {
  const hex = /^(-?\d+:|0x)([0-9A-Fa-f])(.*)$/.exec(text);
  if (hex !== null) return `${hex[1] ?? ''}${hex[2] === '1' ? '2' : '1'}${hex[3] ?? ''}`;
  if (/^[A-Za-z0-9+/]{43}=$/.test(text)) return `${text.startsWith('Q') ? 'R' : 'Q'}${text.slice(1)}`;
  if (/^-?\d+$/.test(text)) return String(BigInt(text) + 1n);
  return `${text}x`;
}

function changedShard(text: string): string {
  return text === '8000000000000000' ? '4000000000000000' : '8000000000000000';
}
