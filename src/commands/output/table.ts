/** Rows as aligned columns under a header: text left, numbers right. */
export function formatTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((title, column) =>
    rows.reduce((widest, row) => Math.max(widest, (row[column] ?? '').length), title.length),
  );
  const numeric = header.map(
    (_, column) => rows.length > 0 && rows.every((row) => /^-?[\d,.]*%?$/.test(row[column] ?? '')),
  );
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) =>
        numeric[column] === true ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd();
  return [line(header), ...rows.map(line)].join('\n');
}

/** Whether no line is longer than the terminal is wide; true where there is none. */
export function fitsTerminal(text: string): boolean {
  const { isTTY, columns } = process.stdout;
  return !isTTY || columns === 0 || text.split('\n').every((line) => line.length <= columns);
}
