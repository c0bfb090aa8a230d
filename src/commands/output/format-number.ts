/** A number for people: `950`, `12k`, `3.4M`; at most two digits say something. */
export function formatNumber(value: number): string {
  const power = value < 1000 ? 0 : Math.min(3, Math.floor(Math.log10(value) / 3));
  const rounded = power === 0 ? Math.round(value) : Number((value / 1000 ** power).toPrecision(2));
  return `${rounded}${['', 'k', 'M', 'G'][power] ?? ''}`;
}
