import * as z from 'zod';
import type { Part } from './part.ts';
import type { TableDescription } from '../read/table-rows.ts';
import { columnType, EXACT } from './copied-rows.ts';

/*
 * Lines of a Delta Lake log, protocol 1/2 (https://github.com/delta-io/delta/blob/master/PROTOCOL.md), which Spark,
 * Trino, DuckDB, polars and others read. The tags of `add` hold what this program adds to the protocol.
 */

const Tags = z.object({
  from: z.coerce.number(),
  to: z.coerce.number(),
  rows: z.coerce.number(),
  keys: z.string().optional(),
  sha256: z.string(),
  changed_at: z.string().optional(),
  loaded: z.string().optional(),
  grades: z
    .string()
    .transform((text): unknown => JSON.parse(text))
    .pipe(z.record(z.string(), z.string())),
  program: z.string(),
  schema: z.string(),
});

/** A path below the table's folder: a foreign log must not make its reader open other files. */
const Path = z
  .string()
  .transform(decodeURIComponent)
  .refine((path) => !/^\/|:|(^|[/\\])\.\.([/\\]|$)/.test(path));

const Add = z.object({
  path: Path,
  partitionValues: z.object({ day: z.string() }),
  size: z.number(),
  dataChange: z.boolean(),
  /** Missing in a part that another program added. */
  tags: z.union([Tags, z.strictObject({}).transform(() => undefined)]).optional(),
});

const Schema = z.object({ fields: z.array(z.object({ name: z.string(), type: z.string() })) });

/** The `global_id` of the rows' chain. */
const NETWORK = 'toncenter-etl.network';

/** A line of the log, reduced to the members that matter here. */
export const Action = z.object({
  add: Add.optional(),
  remove: z.object({ path: Path, dataChange: z.boolean() }).optional(),
  metaData: z
    .object({
      id: z.string(),
      configuration: z.object({ [NETWORK]: z.coerce.number().optional() }),
      schemaString: z
        .string()
        .transform((text): unknown => JSON.parse(text))
        .pipe(Schema),
    })
    .optional(),
});

type MetaData = NonNullable<z.infer<typeof Action>['metaData']>;

export type DeltaColumn = z.infer<typeof Schema>['fields'][number];

/** Undefined for a file that another program has added. */
export function partOf({ path, partitionValues, size, tags }: z.infer<typeof Add>): Part | undefined {
  if (tags === undefined) return undefined;
  const { from, to, keys, changed_at, loaded, ...rest } = tags;
  return {
    ...rest,
    path,
    day: partitionValues.day,
    span: { from, to },
    bytes: size,
    keys: keys ?? null,
    changedAt: changed_at ?? null,
    loaded: loaded ?? null,
  };
}

/** `now` is unix milliseconds. `isNew` is false if the rows were in the table before, in other parts. */
export function addOf(part: Part, { now, isNew }: { now: number; isNew: boolean }): object {
  return {
    add: {
      path: part.path,
      partitionValues: { day: part.day },
      size: part.bytes,
      modificationTime: now,
      dataChange: isNew,
      // Without bounds: delta-rs treats a column without a bound as null, and then finds no row by it.
      stats: JSON.stringify({ numRecords: part.rows }),
      tags: tagsOf(part),
    },
  };
}

function tagsOf({ span, rows, keys, sha256, changedAt, loaded, grades, program, schema }: Part): object {
  const text = (value: string | number | null) => (value === null ? undefined : String(value));
  return {
    from: text(span.from),
    to: text(span.to),
    rows: text(rows),
    keys: text(keys),
    sha256,
    changed_at: text(changedAt),
    loaded: text(loaded),
    grades: JSON.stringify(grades),
    program,
    schema,
  };
}

export function removeOf(part: Part, { now, isNew }: { now: number; isNew: boolean }): object {
  return {
    remove: {
      path: part.path,
      deletionTimestamp: now,
      dataChange: isNew,
      extendedFileMetadata: true,
      partitionValues: { day: part.day },
      size: part.bytes,
    },
  };
}

/** Removes a file that another program has added, without a change of the data. */
export function removeForeign(path: string, now: number): object {
  return { remove: { path: encodeURI(path), deletionTimestamp: now, dataChange: false } };
}

/** The facts about a table that do not depend on its parts. */
export interface DeltaTable {
  /** Stays the same when columns change. */
  readonly id: string;
  /** The `global_id` of the rows' chain; undefined if it is not known. */
  readonly network: number | undefined;
  readonly columns: readonly DeltaColumn[];
}

export function factsOf({ id, configuration, schemaString }: MetaData): DeltaTable {
  return { id, network: configuration[NETWORK], columns: schemaString.fields };
}

export function metaDataOf({ id, network, columns }: DeltaTable, now: number): object {
  const fields = columns.map(({ name, type }) => ({ name, type, nullable: true, metadata: {} }));
  return {
    metaData: {
      id,
      format: { provider: 'parquet', options: {} },
      schemaString: JSON.stringify({ type: 'struct', fields }),
      partitionColumns: ['day'],
      configuration: network === undefined ? {} : { [NETWORK]: String(network) },
      createdTime: now,
    },
  };
}

export const PROTOCOL = { protocol: { minReaderVersion: 1, minWriterVersion: 2 } };

/** The columns of a lake's files, including `EXACT`, and the partition column, whose value is in the folder's name. */
export function lakeColumns({ columns: own }: TableDescription): DeltaColumn[] {
  const columns = own.map((column) => ({ name: column.name, type: columnType(column).delta }));
  return [...columns, { name: EXACT, type: 'string' }, { name: 'day', type: 'date' }];
}

/** A DuckDB expression for the hash of a row's key, equal to `keyHash` in `src/write/seals.ts`. */
export function keyHash({ key }: TableDescription): string {
  const rest = key.filter((name) => name !== 'utime').map((name) => `"${name}"`);
  const text = `concat_ws('|', epoch_us("utime") // 1000000, ${rest.join(', ')})`;
  return `('0x' || left(md5(${text}), 15))::bigint`;
}
