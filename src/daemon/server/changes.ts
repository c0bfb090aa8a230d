/** Lists that are sent row by row, because they are long and few of their rows change. The page knows the rows' keys. */
const BY_ROW: ReadonlySet<string> = new Set(['datasets', 'activity', 'spentMinutes']);

/**
 * Makes a function that says what of its parts differs from what it said before, as a JSON object: whole parts, and of
 * lists in `BY_ROW` the rows that are new or differ. Undefined where nothing does. What is said beside comes along with
 * a change, and is none.
 */
export function createChanges(): (
  parts: Readonly<Record<string, unknown>>,
  beside: Readonly<Record<string, unknown>>,
) => string | undefined {
  const known = new Map<string, ReadonlySet<string>>();
  return (parts, beside) => {
    const changed: string[] = [];
    for (const [name, value] of Object.entries(parts)) {
      if (value === undefined) continue;
      const isList = BY_ROW.has(name) && Array.isArray(value);
      const texts = isList ? value.map((row) => JSON.stringify(row)) : [JSON.stringify(value)];
      const before = known.get(name);
      const fresh = texts.filter((text) => before?.has(text) !== true);
      known.set(name, new Set(texts));
      if (before !== undefined && fresh.length === 0) continue;
      changed.push(`${JSON.stringify(name)}:${isList ? `[${fresh.join()}]` : fresh.join()}`);
    }
    const also = Object.entries(beside).map(
      ([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`,
    );
    return changed.length === 0 ? undefined : `{${[...also, ...changed].join()}}`;
  };
}
