import type { TestStore } from '../database/database.ts';
import { select, without } from '../collections.ts';

/* Rebuilds collections: from rows to the API's JSON. Shares nothing with the mapping that made the rows. */

type Row = Readonly<Record<string, unknown>>;

const all = (store: TestStore, table: string): Promise<Row[]> => select(store, `select * from ton.${table}`);

/** Records of each collection, rebuilt from its tables. */
export const rebuilt = {
  jetton_masters: async (store: TestStore): Promise<Row[]> =>
    (await all(store, 'jetton_masters')).map((row) => without(row, 'name', 'symbol', 'decimals')),
  jetton_wallets: async (store: TestStore): Promise<Row[]> =>
    (await all(store, 'jetton_wallets')).map((row) => {
      const mintless = {
        amount: row['mintless_amount'],
        start_from: numberOf(row['mintless_start_from']),
        expire_at: numberOf(row['mintless_expire_at']),
        custom_payload_api_uri: row['mintless_custom_payload_api_uri'],
      };
      const kept = (row['extra'] as Row | null)?.['mintless_info'];
      const isSent = kept !== undefined || Object.values(mintless).some((value) => value !== null);
      const names = ['amount', 'start_from', 'expire_at', 'custom_payload_api_uri'].map(
        (name) => `mintless_${name}`,
      );
      return { ...without(row, ...names), ...(isSent && { mintless_info: mintless }) };
    }),
  nft_collections: async (store: TestStore): Promise<Row[]> =>
    (await all(store, 'nft_collections')).map((row) => without(row, 'name', 'next_item_index_text')),
  nft_items: async (store: TestStore): Promise<Row[]> => {
    const collections = new Map((await rebuilt.nft_collections(store)).map((row) => [row['address'], row]));
    return (await all(store, 'nft_items')).map((row) => ({
      ...without(row, 'index_text'),
      collection: collections.get(row['collection_address']),
    }));
  },
  multisig_orders: async (store: TestStore): Promise<Row[]> => {
    const actions = await select(store, 'select * from ton.multisig_order_actions order by position');
    return (await all(store, 'multisig_orders')).map((row) => ({
      ...without(row, 'action_count', 'order_seqno_text', 'approvals_mask_text'),
      expiration_date: numberOf(row['expiration_date']),
      actions:
        row['action_count'] === null
          ? null
          : actions
              .filter((action) => action['order_address'] === row['address'])
              .map((action) => without(action, 'order_address', 'position')),
    }));
  },
  shard_states: async (store: TestStore): Promise<Map<unknown, Row[]>> => {
    const rows = await select(
      store,
      `select mc_seqno, workchain, shard, seqno from ton.shard_states order by mc_seqno, workchain, shard`,
    );
    const bySeqno = new Map<unknown, Row[]>();
    for (const { mc_seqno, ...id } of rows) bySeqno.set(mc_seqno, [...(bySeqno.get(mc_seqno) ?? []), id]);
    return bySeqno;
  },
};

function numberOf(value: unknown): number | null {
  return value === null || value === undefined ? null : Number(value);
}

/** Rows of a table as records: its columns are the members. */
export async function plain(store: TestStore, table: string, ...leaveOut: string[]): Promise<Row[]> {
  return (await all(store, table)).map((row) => without(row, ...leaveOut));
}

/** Transactions of an account as v2 prints them, newest first, in another form of addresses. */
export async function rebuiltHistory(store: TestStore, account: string): Promise<unknown[]> {
  const of = `account = '${account}'`;
  const rows = await select(store, `select * from ton.account_transactions where ${of} order by lt desc`);
  const messages = await select(
    store,
    `select * from ton.account_messages where ${of} order by lt, position`,
  );
  return rows.map((row) => {
    const own = messages.filter(({ lt }) => lt === row['lt']);
    return {
      account,
      utime: Date.parse(String(row['utime'])) / 1000,
      data: row['data'],
      transaction_id: { lt: row['lt'], hash: row['hash'] },
      fee: row['fee'],
      storage_fee: row['storage_fee'],
      other_fee: row['other_fee'],
      in_msg: own.filter(({ position }) => position === 0).map(rebuiltMessage)[0],
      out_msgs: own.filter(({ position }) => position !== 0).map(rebuiltMessage),
    };
  });
}

function rebuiltMessage(row: Row): unknown {
  const { data_type, body, init_state, text } = row;
  const columns = without(row, 'account', 'lt', 'position', 'data_type', 'body', 'init_state', 'text');
  return { ...columns, msg_data: { '@type': data_type, body, init_state, text } };
}

/** What v2 printed, with addresses in raw form and without the tags that a member's path implies. */
export function untagged(value: unknown, raw: (friendly: string) => string): unknown {
  if (Array.isArray(value)) return value.map((element) => untagged(element, raw));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]): [string, unknown][] => {
      if (name === '@type' && !String(member).startsWith('msg.data')) return [];
      if (name === 'address') return [];
      if (name === 'source' || name === 'destination')
        return member === '' ? [] : [[name, raw(String(member))]];
      return [[name, untagged(member, raw)]];
    }),
  );
}
