import { sql } from 'drizzle-orm';
import { bigint, boolean, customType, numeric, text, timestamp } from 'drizzle-orm/pg-core';

/** A logical time or a count of gas: 64 bits. It is a string in JavaScript, because a number would lose digits. */
export const int8 = customType<{ data: string; driverData: string }>({ dataType: () => 'bigint' });

/** Unix seconds, or another count that fits into a JavaScript number. */
export const count8 = () => bigint({ mode: 'number' });

/** Nanotons, jetton units and other integers of at most 38 digits, which every reader supports. The chain's have 37. */
export const amount = customType<{ data: string; driverData: string }>({ dataType: () => 'numeric(38,0)' });

/** A whole number of up to 256 bits, such as an item's index. */
export const wide = () => numeric();

/** A moment of time, written as ISO 8601 text. */
export const moment = () => timestamp({ withTimezone: true, mode: 'string' });

/** Block time: stream tables are partitioned by this column, which has the same name in each of them. */
export const utime = () => moment().notNull();

/** A 256-bit hash in base64 (44 characters), as the API prints it. */
export const hash = () => text();

/** A raw account address, `workchain:HEX` in upper case, as the API prints it. */
export const address = () => text();

/** The row's last change: the only column that differs between two runs. */
export const loadedAt = () => moment().notNull().defaultNow();

/** Ranges of unix seconds, as Postgres' text. */
export const int8range = customType<{ data: string; driverData: string }>({ dataType: () => 'int8range' });
export const int8multirange = customType<{ data: string; driverData: string }>({
  dataType: () => 'int8multirange',
});

/** The transaction and the trace of a transfer or burn. */
export const transferColumns = () => ({
  utime: utime(),
  transaction_lt: int8().notNull(),
  transaction_hash: hash().notNull(),
  transaction_aborted: boolean(),
  trace_id: hash(),
  query_id: amount(),
});

/**
 * The text comment in a body that the server has decoded. Postgres derives it whenever it writes the row, so no writer
 * can forget it or make it differ from the body.
 */
export const commentIn = (decoded: string) =>
  text().generatedAlwaysAs(
    sql.raw(`case when jsonb_typeof(${decoded} -> 'comment') = 'string' then ${decoded} ->> 'comment' end`),
  );
