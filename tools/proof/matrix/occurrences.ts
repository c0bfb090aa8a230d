import type { Alteration } from './alteration.ts';
import type { Table } from './cells.ts';
import type { Row, Rows } from './rows.ts';

/** Seconds of a dataset that contain a row: if one of them is not verified, the row is not certified. */
export interface Occurrence {
  readonly dataset: string;
  readonly scope: string;
  readonly seconds: readonly number[];
}

/** The seconds in which each dataset with an altered row certifies it: before and after the change. */
export function occurrencesOf({ cell, before, after }: Alteration, truth: Rows): Occurrence[] {
  return occurrencesOfRow(
    cell.table,
    [before, after].filter((row) => row !== undefined),
    truth,
  );
}

/** The seconds in which the datasets of a table certify its rows: a transaction counts at its trace's end, too. */
export function occurrencesOfRow(
  { name, columns, datasets }: Table,
  rows: readonly Row[],
  truth: Rows,
): Occurrence[] {
  const isPooled = columns.some((column) => column.name === 'pool_address');
  const scopes = isPooled ? [...new Set(rows.flatMap((row) => row['pool_address'] ?? []))] : [''];
  const carried = name === 'transactions' || name === 'messages';
  return datasets.flatMap((dataset) => {
    const carriers = carried ? rows.flatMap((row) => secondsOfCarriers(name, dataset, row, truth)) : [];
    const seconds = [...new Set([...rows.map((row) => Number(row['utime'])), ...carriers])];
    return scopes.map((scope) => ({ dataset, scope, seconds }));
  });
}

/** A message is in its sender's second and its receiver's, and with them in that of their trace. */
function secondsOfCarriers(table: string, dataset: string, row: Row, truth: Rows): number[] {
  const hash = row['hash'];
  const [carrying, name] = dataset === 'traces' ? ['trace_nodes', 'tx_hash'] : ['transactions', 'hash'];
  const carriers = (truth.get(carrying) ?? []).filter((carrier) =>
    table === 'transactions'
      ? carrier[name] === hash
      : carrier['in_msg_hash'] === hash || carrier[name] === row['out_msg_tx_hash'],
  );
  return carriers.map((carrier) => Number(carrier['utime']));
}
