import { column } from '../dataset/declaration/row-layout.ts';
import type { PositionMembers } from '../dataset/paginators/paginator.ts';
import { hash, optionalAddress, optionalHash } from './members/form.ts';
import { digits, flag, freeForm, requiredInt64, requiredSeconds, text } from './members/scalar.ts';

/**
 * Members that transfers and burns have in common. Payloads are bags of cells in base64, some of which a decoder reads.
 */
export const transferMembers = {
  query_id: digits,
  transaction_hash: hash,
  transaction_lt: requiredInt64,
  transaction_now: column('utime', requiredSeconds),
  transaction_aborted: flag,
  response_destination: optionalAddress,
  custom_payload: text,
  decoded_custom_payload: freeForm,
  trace_id: optionalHash,
};

/** The position of a transfer or burn, which is that of its transaction. */
export const transferPosition = {
  utime: 'transaction_now',
  lt: 'transaction_lt',
  id: ['transaction_hash'],
} satisfies PositionMembers;
