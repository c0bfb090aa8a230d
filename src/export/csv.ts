/** One line of CSV without its end (RFC 4180): null as nothing, the empty string in quotes. */
export function csvLine(cells: readonly (string | null)[]): string {
  return cells.map(csvCell).join(',');
}

function csvCell(value: string | null): string {
  if (value === null) return '';
  return value === '' || /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
}
