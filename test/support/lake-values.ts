/** A value as any engine says it, and as Postgres prints it: a number without what its type adds, a time of UTC without its zone. */
export function plainValue(said: string | number | boolean | null): string | null {
  if (said === null) return null;
  if (typeof said === 'boolean') return said ? 't' : 'f';
  const value = String(said);
  if (/^-?\d+\.\d+(e-?\d+)?$/i.test(value)) return String(Number(Number(value).toPrecision(12)));
  if (/^-?\d+$/.test(value) && Math.abs(Number(value)) < 2 ** 53) return String(Number(value));
  return /^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(\.0+)?(\+00| UTC)?$/.exec(value)?.[1] ?? value;
}
