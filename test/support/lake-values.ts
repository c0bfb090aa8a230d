/**
 * A value as Postgres prints it, from any engine's form: a number without what its type adds, a UTC time
 * without its zone.
 */
export function plainValue(answer: string | number | boolean | null): string | null {
  if (answer === null) return null;
  if (typeof answer === 'boolean') return answer ? 't' : 'f';
  const value = String(answer);
  if (/^-?\d+\.\d+(e-?\d+)?$/i.test(value)) return String(Number(Number(value).toPrecision(12)));
  if (/^-?\d+$/.test(value) && Math.abs(Number(value)) < 2 ** 53) return String(Number(value));
  return /^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(\.0+)?(\+00| UTC)?$/.exec(value)?.[1] ?? value;
}

export type Value = string | number | bigint | boolean | null | undefined;

/** A number to some digits, rounded half up; a list in brackets; anything else as Postgres prints it. */
export function roundedValue(value: Value, digits = 9): string | null {
  if (value === null || value === undefined) return null;
  if (typeof value === 'boolean') return value ? 't' : 'f';
  const text = String(value);
  if (/^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text)) return (Number(text) * (1 + 1e-12)).toPrecision(digits);
  return text.replace(/^\{([\d,]*)\}$/, '[$1]');
}
