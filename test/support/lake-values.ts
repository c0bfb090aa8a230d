/** A value as any engine prints it: a number without what its type adds to it, a time without its zone, which is UTC. */
export function plainValue(value: string | null): string | null {
  if (value === null) return null;
  if (/^-?\d+\.\d+(e-?\d+)?$/i.test(value)) return String(Number(Number(value).toPrecision(12)));
  if (/^-?\d+$/.test(value) && Math.abs(Number(value)) < 2 ** 53) return String(Number(value));
  return /^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(\.0+)?(\+00| UTC)?$/.exec(value)?.[1] ?? value;
}
