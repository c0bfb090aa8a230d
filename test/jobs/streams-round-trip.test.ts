import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { PgTable } from 'drizzle-orm/pg-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import actionsJob from '../../jobs/actions.ts';
import jettonTransfersJob from '../../jobs/jetton_transfers.ts';
import nftTransfersJob from '../../jobs/nft_transfers.ts';
import tracesJob from '../../jobs/traces.ts';
import transactionsJob from '../../jobs/transactions.ts';
import { parseJson } from '../../src/api/read-response.ts';
import { actions } from '../../src/tables/ton/actions.ts';
import { jetton_transfers, nft_transfers } from '../../src/tables/ton/jettons-and-nfts.ts';
import { messages } from '../../src/tables/ton/transactions.ts';
import { trace_nodes, traces } from '../../src/tables/ton/traces.ts';
import { comparableTrace } from '../support/rebuild/comparable-trace.ts';
import { openPageStore, type PageStore } from '../support/database/page-store.ts';
import {
  actionRebuilder,
  traceRebuilder,
  traceTables,
  type TraceStore,
} from '../support/rebuild/rebuild-from-rows.ts';
import { rebuiltStreams } from '../support/rebuild/rebuilt-streams.ts';
import { comparable } from '../support/rebuild/same-record.ts';
import { detailsSchemas, sampleDetails } from '../support/samples/sample-details.ts';
import { sampleMessage, sampleTransaction } from '../support/samples/sample-records.ts';
import {
  sampleAction,
  sampleDocumentedTrace,
  sampleJettonTransfer,
  sampleNftTransfer,
  sampleTrace,
} from '../support/samples/sample-streams.ts';
import {
  hasCorpus,
  hasOpenapi,
  NO_CORPUS,
  recordedJettonTransfers,
  recordedTraces,
} from '../support/shared-data.ts';
import type { TextRow } from '../support/rebuild/text-row.ts';

type Json = Record<string, unknown>;

let store: PageStore;

beforeAll(async () => {
  store = await openPageStore();
});
afterAll(() => store.close());

/** All stored rows that traces consist of. */
async function everything(): Promise<TraceStore> {
  const held: [string, TextRow[]][] = [];
  for (const [name, table] of Object.entries<PgTable>(traceTables)) {
    held.push([name, await store.read(table, 'true', [])]);
  }
  return Object.fromEntries(held) as Record<keyof TraceStore, TextRow[]>;
}

async function expectTrace(record: Json): Promise<void> {
  const rebuilt = traceRebuilder(await everything())(record['trace_id'], 'actions' in record);
  expect(comparableTrace(rebuilt)).toEqual(comparableTrace(record));
}

async function expectAction(record: Json): Promise<void> {
  const [rebuilt] = actionRebuilder(await everything())((row) => row['action_id'] === record['action_id']);
  expect(comparable('actions', rebuilt)).toEqual(comparable('actions', record));
}

describe.each(rebuiltStreams)('rows of $name in Postgres', ({ job, tables, sample, rebuild, endpoint }) => {
  it('rebuild a record with every documented member, and stay as they are when written again', async () => {
    const records = [sample(), sample({ newborn: { big: [1, null] } }), sample()];
    expect(await store.write(job, records)).toBeGreaterThanOrEqual(3);
    expect(await store.write(job, records)).toBe(0);
    const [own, parts] = Object.values(tables);
    for (const record of records) {
      const key = ['complaint_hash', 'tx_hash', 'transaction_hash'].find((name) => name in record);
      // Elections and cycles are identified by their time alone.
      const where = key === undefined ? 'utime = to_timestamp($1)' : `${key} = $1`;
      const value = record[key ?? ('cycle_start' in record ? 'cycle_start' : 'election_id')];
      const [row] = await store.read(own!, where, [value]);
      const others = parts === undefined ? [] : await store.read(parts, where, [value]);
      expect(comparable(endpoint, rebuild(row!, others))).toEqual(comparable(endpoint, record));
    }
  });
});

/** What a decoder may make of a body, as it is sent, and the comment in it. */
const COMMENTS: readonly (readonly [decoded: string, comment: string | null])[] = [
  ['{"@type":"text_comment","type":"text_comment","comment":"thanks, Боб 💎"}', 'thanks, Боб 💎'],
  ['{"comment":"one\\r\\ntwo\\tthree \\\\ \\"four\\" \\\\N \\\\."}', 'one\r\ntwo\tthree \\ "four" \\N \\.'],
  ['{"comment":"nul \\u0000, half \\ud800"}', 'nul , half \ufffd'],
  ['{"comment":"=1+1"}', '=1+1'],
  ['{"comment":""}', ''],
  ['{"comment":null}', null],
  ['{"comment":5}', null],
  ['{"comment":{"@type":"just","value":"scaled"}}', null],
  ['{"comment":["a","b"]}', null],
  ['{"@type":"encrypted_text_comment","cipher_text":"2167DA4B"}', null],
  ['{"@type":"dedust_swap","text":"no comment"}', null],
  ['"comment"', null],
  ['["comment"]', null],
  ['null', null],
];

/** A hash that no other text has. */
const hashOf = (text: string) => createHash('sha256').update(text).digest('base64');

describe('a text comment', () => {
  const kinds = [
    {
      name: 'messages',
      job: transactionsJob,
      table: messages,
      key: 'content_hash',
      make: (hash: string, decoded: unknown) =>
        sampleTransaction({
          in_msg: sampleMessage({ message_content: { hash, body: null, decoded } }),
          out_msgs: [],
        }),
    },
    ...(['jetton_transfers', 'nft_transfers'] as const).map((name) => ({
      name,
      job: { jetton_transfers: jettonTransfersJob, nft_transfers: nftTransfersJob }[name],
      table: { jetton_transfers, nft_transfers }[name],
      key: 'transaction_hash',
      make: (hash: string, decoded: unknown) =>
        ({ jetton_transfers: sampleJettonTransfer, nft_transfers: sampleNftTransfer })[name]({
          transaction_hash: hash,
          decoded_forward_payload: decoded,
        }),
    })),
  ];

  it.each(kinds)('is a column of $name, whatever other form it has', async (kind) => {
    const records = COMMENTS.map(([decoded]) => kind.make(hashOf(decoded), parseJson(decoded)));
    await store.write(kind.job, records);
    const rows = await store.read(kind.table, 'true', []);
    const found = new Map(rows.map((row) => [row[kind.key], row['comment']]));
    expect(COMMENTS.map(([decoded]) => [decoded, found.get(hashOf(decoded))])).toEqual(COMMENTS);
  });

  it('comes with a body that the server decodes later', async () => {
    const transfer = sampleJettonTransfer({
      transaction_hash: hashOf('later'),
      decoded_forward_payload: null,
    });
    await store.write(jettonTransfersJob, [transfer]);
    await store.write(jettonTransfersJob, [{ ...transfer, decoded_forward_payload: { comment: 'at last' } }]);
    const rows = await store.read(jetton_transfers, 'transaction_hash = $1', [hashOf('later')]);
    expect(rows.map(({ comment }) => comment)).toEqual(['at last']);
  });
});

describe('rows of traces in Postgres', () => {
  it('rebuild a trace with every documented member, in both forms', async () => {
    const sent = sampleTrace();
    const { trace_id, end_utime: trace_end_utime } = sent;
    const withActions = { ...sent, actions: [sampleAction({ trace_id, trace_end_utime })] };
    const records = [sampleTrace(), withActions, sampleDocumentedTrace()];
    expect(await store.write(tracesJob, records)).toBeGreaterThan(12);
    expect(await store.write(tracesJob, records)).toBe(0);
    for (const record of records) await expectTrace(record);
  });

  it('are replaced by those of the same trace after it continued', async () => {
    const whole = sampleTrace();
    const { children, ...root } = whole['trace'] as { children: Json[] };
    const firstHashes = (whole['transactions_order'] as string[]).slice(0, 2);
    const bodies = whole['transactions'] as Record<string, Json>;
    const early = {
      ...whole,
      end_utime: Number(whole['end_utime']) - 2,
      end_lt: '101',
      trace: { ...root, children: [{ ...children[0], children: null }] },
      transactions_order: firstHashes,
      transactions: Object.fromEntries(firstHashes.map((hash) => [hash, bodies[hash]])),
    };
    await store.write(tracesJob, [early]);
    await expectTrace(early);
    await store.write(tracesJob, [whole]);
    await expectTrace(whole);
    await store.write(tracesJob, [early]);
    await expectTrace(whole);
    expect(await store.read(traces, 'trace_id = $1', [whole['trace_id']])).toHaveLength(1);
    expect(await store.read(trace_nodes, 'trace_id = $1', [whole['trace_id']])).toHaveLength(4);
  });

  it('are replaced if the trace continued within its last second', async () => {
    const whole = sampleTrace();
    const tree = whole['trace'] as { children: Json[] };
    const early = {
      ...whole,
      end_lt: '102',
      trace: { ...tree, children: [tree.children[1], { ...tree.children[0], children: null }].reverse() },
    };
    await store.write(tracesJob, [early]);
    await store.write(tracesJob, [whole]);
    await store.write(tracesJob, [early]);
    await expectTrace(whole);
  });

  it('share transactions and messages with those of transactions', async () => {
    const record = sampleTrace();
    const alone = Object.values(record['transactions'] as Json);
    expect(await store.write(transactionsJob, alone)).toBeGreaterThan(4);
    // Its own row and its four nodes: everything else is stored already.
    expect(await store.write(tracesJob, [record])).toBe(5);
    await expectTrace(record);
  });
});

describe('rows of actions in Postgres', () => {
  it('rebuild an action with every documented member', async () => {
    const records = [sampleAction(), sampleAction({ success: false, accounts: [], transactions: null })];
    expect(await store.write(actionsJob, records)).toBe(7);
    expect(await store.write(actionsJob, records)).toBe(0);
    for (const record of records) await expectAction(record);
  });

  it('follow the source if it changes them', async () => {
    const first = sampleAction();
    const second = { ...first, type: 'call_contract', details: { value: '7' }, success: null };
    await store.write(actionsJob, [first]);
    await store.write(actionsJob, [second]);
    await expectAction(second);
  });

  it('keep numbers that no JavaScript number can hold', async () => {
    const text = JSON.stringify(
      sampleAction({ type: 'layerzero_send', details: { layerzero_send_data: { send_request_id: '@' } } }),
    ).replace('"@"', '18446744073709551615');
    const record = parseJson(text) as Json;
    await store.write(actionsJob, [record]);
    const [row] = await store.read(actions, 'action_id = $1', [record['action_id']]);
    expect(row!['details']).toBe('{"layerzero_send_data": {"send_request_id": 18446744073709551615}}');
  });

  it.skipIf(!hasOpenapi)('keep the details of every type whole', async () => {
    const records = detailsSchemas().map(([type, schema], index) =>
      sampleAction({ type, details: sampleDetails(schema, index % 2 === 0) }),
    );
    await store.write(actionsJob, records);
    const rebuild = actionRebuilder(await everything());
    for (const record of records) {
      const [rebuilt] = rebuild((row) => row['action_id'] === record['action_id']);
      expect(comparable('actions', rebuilt)).toEqual(comparable('actions', record));
    }
  });
});

describe.skipIf(!hasCorpus)(`recorded streams in Postgres${hasCorpus ? '' : ` (${NO_CORPUS})`}`, () => {
  it('load whole and are rebuilt from the rows of all traces together', async () => {
    const records = recordedTraces();
    await store.write(tracesJob, records);
    const rebuild = traceRebuilder(await everything());
    const filled = records.filter((record) => {
      const rebuilt = comparableTrace(rebuild(record['trace_id']));
      const sent = comparableTrace(record);
      if (isDeepStrictEqual(rebuilt, sent)) return false;
      // No value that was sent differs: another copy of a record has the members that this one left out.
      expect(rebuilt).toMatchObject(sent as Json);
      return true;
    });
    expect(filled.length).toBeLessThanOrEqual(3);
  });

  it('hold every recorded transfer', async () => {
    const stream = rebuiltStreams.find(({ name }) => name === 'jetton_transfers')!;
    const [record] = recordedJettonTransfers();
    await store.write(stream.job, [record]);
    const [row] = await store.read(stream.tables['jetton_transfers']!, 'transaction_hash = $1', [
      record!['transaction_hash'],
    ]);
    expect(comparable(stream.endpoint, stream.rebuild(row!, []))).toEqual(
      comparable(stream.endpoint, record),
    );
  });
});
