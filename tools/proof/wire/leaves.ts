import type { Found } from './forms.ts';

type Path = readonly (string | number)[];

/** Every value below a record, lists and objects too, but not the record itself. */
export function leavesOf(record: unknown): { readonly path: Path; readonly value: unknown }[] {
  const found: { path: Path; value: unknown }[] = [];
  const visit = (value: unknown, path: Path): void => {
    if (path.length > 0) found.push({ path, value });
    if (Array.isArray(value)) value.forEach((one, index) => visit(one, [...path, index]));
    else if (typeof value === 'object' && value !== null)
      for (const [name, member] of Object.entries(value)) visit(member, [...path, name]);
  };
  visit(record, []);
  return found;
}

/** A value with the values of the same member in the other records. */
export function withOthers(record: unknown, path: Path, value: unknown, records: readonly unknown[]): Found {
  const shape = shapeOf(path);
  const others = records
    .filter((other) => other !== record)
    .slice(0, 12)
    .flatMap((other) => leavesOf(other).filter((leaf) => shapeOf(leaf.path) === shape))
    .map((leaf) => leaf.value);
  return { path, value, others };
}

/** Indexes in lists, and names that are hashes, do not tell one member from another. */
function shapeOf(path: Path): string {
  return path.map((name) => (typeof name === 'number' || name.length > 40 ? '*' : name)).join('/');
}

/** A record with one of its values replaced; undefined leaves it out. */
export function replaceAt(record: unknown, path: Path, instead: unknown): unknown {
  const [name, ...rest] = path;
  if (name === undefined) return instead;
  if (Array.isArray(record)) {
    const list = record as unknown[];
    const changed =
      rest.length === 0 && instead === undefined ? [] : [replaceAt(list[Number(name)], rest, instead)];
    return [...list.slice(0, Number(name)), ...changed, ...list.slice(Number(name) + 1)];
  }
  const members = record as Record<string, unknown>;
  if (rest.length > 0 || instead !== undefined)
    return { ...members, [name]: replaceAt(members[String(name)], rest, instead) };
  return Object.fromEntries(Object.entries(members).filter(([other]) => other !== name));
}
