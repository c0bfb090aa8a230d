import { getTableColumns } from 'drizzle-orm';
import { describe, expect, it } from 'vitest';
import job from '../../jobs/actions.ts';
import { actionTypes } from '../../jobs/actions.ts';
import { actionPath, documentedMembers, type ActionColumn } from '../../src/tables/ton/action-members.ts';
import { action_accounts, action_transactions, actions } from '../../src/tables/ton/actions.ts';
import type { Rows } from '../../src/dataset/declaration/record.ts';
import { rebuildAction } from '../support/rebuild/rebuild-streams.ts';
import { comparable } from '../support/rebuild/same-record.ts';
import { detailsSchema, detailsSchemas, sampleDetails } from '../support/samples/sample-details.ts';
import { sampleTransaction } from '../support/samples/sample-records.ts';
import { sampleAction } from '../support/samples/sample-streams.ts';
import { hasOpenapi } from '../support/shared-data.ts';
import { asTextRow } from '../support/rebuild/text-row.ts';

type Json = Record<string, unknown>;

const tables = { actions, action_accounts, action_transactions };
const COLUMNS: readonly ActionColumn[] = ['source', 'destination', 'asset', 'amount'];

function rowsOf(record: unknown): Rows {
  const { accepted, rejected } = job.read([record]);
  expect(rejected).toEqual([]);
  return accepted[0]!.rows;
}

/** An account whose 64 digits are the code of one letter. */
const account = (letter: string): string =>
  `0:${letter.charCodeAt(0).toString(16).padStart(64, 'A').toUpperCase()}`;

function actionRow(changes: Json): Json {
  return rowsOf(sampleAction(changes))['actions']![0] as Json;
}

function expectUnchanged(record: Json): void {
  const rows = rowsOf(record);
  const rebuilt = rebuildAction(
    asTextRow(actions, rows['actions']![0]!),
    rows['action_accounts']!.map((row) => asTextRow(action_accounts, row)).reverse(),
    rows['action_transactions']!.map((row) => asTextRow(action_transactions, row)).reverse(),
  );
  expect(comparable('actions', rebuilt)).toEqual(comparable('actions', record));
}

describe('jobs/actions', () => {
  it('rebuilds an action with every documented member from its rows', () => {
    expectUnchanged(sampleAction());
    expectUnchanged(sampleAction({ success: false }));
    expectUnchanged(sampleAction({ transactions_full: [sampleTransaction()] }));
  });

  it('fills every column of its tables except the time of loading', () => {
    const rows = rowsOf(sampleAction());
    for (const [name, table] of Object.entries(tables)) {
      const filled = Object.keys(rows[name]![0]!).sort();
      expect([...filled, 'loaded_at'].sort()).toEqual(Object.keys(getTableColumns(table)).sort());
    }
  });

  it('keeps empty lists apart from lists that were not sent', () => {
    expectUnchanged(sampleAction({ accounts: [], transactions: [] }));
    expectUnchanged(sampleAction({ accounts: null, transactions: null }));
    expect(actionRow({ accounts: [], transactions: null })).toMatchObject({ account_count: 0 });
  });

  it('keeps the details of an unknown type', () => {
    const details = { error: "unsupported action type: 'new'" };
    const record = sampleAction({ type: 'new', details, raw_action: { anything: [1, null] } });
    expectUnchanged(record);
    expect(job.read([record]).accepted[0]!.extra).toEqual({});
    expect(actionRow({ type: 'constructor', details: null })).toMatchObject({ source: null, amount: null });
  });

  it('takes source, destination, asset and amount from the members of each type', () => {
    const swap = {
      dex: 'x',
      sender: account('A'),
      asset_in: account('B'),
      asset_out: account('C'),
      dex_incoming_transfer: {
        asset: account('B'),
        source: account('A'),
        destination: account('D'),
        amount: '5',
      },
    };
    const cases: [string, Json, Json][] = [
      [
        'ton_transfer',
        { source: account('A'), destination: account('B'), value: '7' },
        { source: account('A'), destination: account('B'), asset: null, amount: '7' },
      ],
      ['jetton_swap', swap, { source: account('A'), destination: null, asset: account('B'), amount: '5' }],
      [
        'nft_purchase',
        { nft_item: account('N'), old_owner: account('O'), new_owner: account('P'), price: '9' },
        { source: account('O'), destination: account('P'), asset: account('N'), amount: '9' },
      ],
      [
        'stake_deposit',
        { stake_holder: account('A'), pool: account('P'), amount: 12 },
        { source: account('A'), destination: account('P'), asset: null, amount: '12' },
      ],
      [
        'evaa_supply',
        { source: account('A'), recipient: account('R'), asset: account('J'), amount: 2n ** 60n },
        { destination: account('R'), asset: account('J'), amount: '1152921504606846976' },
      ],
      [
        'brand_new',
        { source: account('A'), destination: account('B'), asset: account('C'), amount: '1.5' },
        { source: account('A'), destination: account('B'), asset: account('C'), amount: null },
      ],
    ];
    for (const [type, details, columns] of cases) expect(actionRow({ type, details })).toMatchObject(columns);
  });

  it('rejects an action with an account in an unknown form, and takes one in another known form', () => {
    const small = account('A').toLowerCase();
    const details = { source: account('A'), destination: small, value: '7' };
    expect(actionRow({ type: 'ton_transfer', details })).toMatchObject({
      destination: account('A'),
      details,
    });
    const wrong = [
      { type: 'ton_transfer', details: { source: account('A'), destination: small.slice(1), value: '7' } },
      { type: 'nft_mint', details: { owner: account('A'), nft_item: '0:1' } },
    ];
    for (const changes of wrong)
      expect(job.read([sampleAction(changes)]).rejected).toMatchObject([{ path: 'details' }]);
    expect(job.read([sampleAction({ accounts: [small.slice(1)] })]).rejected).toMatchObject([
      { path: 'accounts.0' },
    ]);
    expect(job.read([sampleAction({ transactions: ['x'] })]).rejected).toMatchObject([
      { path: 'transactions.0' },
    ]);
  });

  it('keeps undocumented members', () => {
    const record = sampleAction({ newborn: { a: null } });
    expectUnchanged(record);
    expect(rowsOf(record)['actions']).toMatchObject([{ extra: { newborn: { a: null } } }]);
  });

  it('rejects an action without an identifier, with the path', () => {
    for (const name of ['trace_id', 'action_id', 'trace_end_utime', 'type', 'start_lt']) {
      expect(job.read([sampleAction({ [name]: null })]).rejected).toMatchObject([{ path: name }]);
    }
  });

  it('reads the position of an action from the end of its trace', () => {
    const record = sampleAction({
      trace_end_utime: 1_760_000_009,
      trace_end_lt: '7',
      trace_id: 't',
      action_id: 'a',
    });
    expect(job.read([record]).positions).toEqual([{ utime: 1_760_000_009, lt: '7', id: 't/a' }]);
  });

  it('requests types by name, each once', () => {
    expect(job.params['supported_action_types']).toBe(actionTypes);
    expect(new Set(actionTypes).size).toBe(actionTypes.length);
    expect(actionTypes.filter((type) => !/^[a-z0-9_]+$/.test(type))).toEqual([]);
  });

  it('names in the comment of a column the member of each type', () => {
    expect(documentedMembers('amount')).toContain('; of jetton_swap details.dex_incoming_transfer.amount');
    expect(documentedMembers('source')).toMatch(/^details\.source; of .*jetton_burn, .*details\.owner/);
  });
});

describe.skipIf(!hasOpenapi)('the details of actions', () => {
  it.each(hasOpenapi ? detailsSchemas() : [])('of %s are kept whole', (name, schema) => {
    for (const sparse of [false, true]) {
      const record = sampleAction({ type: name, details: sampleDetails(schema, sparse) });
      expectUnchanged(record);
      expect(actionRow({ type: name, details: record['details'] })['details']).toEqual(record['details']);
    }
  });

  it('have the members that columns are taken from', () => {
    const withSchema = actionTypes.filter((type) => detailsSchema(type) !== undefined);
    const unknown = actionTypes.filter((type) => !withSchema.includes(type));
    expect(unknown).toEqual(['coffee_mev_protect_failed_swap', 'unknown']);
    for (const type of withSchema) {
      const sample = sampleDetails(detailsSchema(type)!);
      for (const column of COLUMNS) {
        const path = actionPath(type, column);
        const value = path.reduce<unknown>((inner, name) => (inner as Json)[name], sample);
        if (path.join('.') !== column) expect([type, column, typeof value]).toEqual([type, column, 'string']);
      }
    }
  });

  it('give every type that moves something a source or a destination', () => {
    const without = actionTypes
      .filter((type) => detailsSchema(type) !== undefined)
      .filter((type) => {
        const { source, destination } = actionRow({ type, details: sampleDetails(detailsSchema(type)!) });
        return source === null && destination === null;
      });
    expect(without).toEqual([]);
  });
});
