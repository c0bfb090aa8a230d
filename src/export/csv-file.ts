import { open } from 'node:fs/promises';
import { csvLine } from './csv.ts';
import type { FileFormat } from './row-file.ts';

/** CSV with a header (RFC 4180): null as nothing, the empty string in quotes, times in UTC, everything as Postgres prints it. */
export const csv: FileFormat = {
  name: 'csv',
  async open(path, { columns }) {
    const file = await open(path, 'w');
    await file.write(`${csvLine(columns.map(({ name }) => name))}\r\n`);
    return {
      async write(rows) {
        await file.write(rows.map((row) => `${csvLine(row)}\r\n`).join(''));
      },
      end: () => file.close(),
    };
  },
};
