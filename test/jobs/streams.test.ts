import { describe, expect, it } from 'vitest';
import jettonBurns from '../../jobs/jetton_burns.ts';
import jettonTransfers from '../../jobs/jetton_transfers.ts';
import nftTransfers from '../../jobs/nft_transfers.ts';
import nominatorPoolEvents from '../../jobs/nominator_pool_events.ts';
import validatorComplaints from '../../jobs/validator_complaints.ts';
import validatorEvents from '../../jobs/validator_events.ts';
import { rebuiltStreams, type RebuiltStream } from '../support/rebuild/rebuilt-streams.ts';
import { comparable } from '../support/rebuild/same-record.ts';
import {
  sampleComplaint,
  sampleJettonTransfer,
  samplePoolEvent,
  sampleValidatorEvent,
} from '../support/samples/sample-streams.ts';
import { targetOf } from '../../src/write/target.ts';
import { hasCorpus, NO_CORPUS, recordedJettonTransfers } from '../support/shared-data.ts';
import { asTextRow, type TextRow } from '../support/rebuild/text-row.ts';

type Json = Record<string, unknown>;

/** The rows of one record as text, by table. */
function rowsOf({ job, tables }: RebuiltStream, record: unknown): Record<string, TextRow[]> {
  const { accepted, rejected } = job.read([record]);
  expect(rejected).toEqual([]);
  return Object.fromEntries(
    Object.entries(tables).map(([name, table]) => [
      name,
      (accepted[0]!.rows[name] ?? []).map((row) => asTextRow(table, row)).reverse(),
    ]),
  );
}

function expectUnchanged(stream: RebuiltStream, record: Json): void {
  const [own, parts] = Object.values(rowsOf(stream, record));
  const rebuilt = stream.rebuild(own![0]!, parts ?? []);
  expect(comparable(stream.endpoint, rebuilt)).toEqual(comparable(stream.endpoint, record));
}

describe.each(rebuiltStreams)('jobs/$name', (stream) => {
  it('rebuilds a record with every documented member from its rows', () => {
    expectUnchanged(stream, stream.sample());
    for (const [name, value] of Object.entries(stream.sample())) {
      if (typeof value === 'boolean') expectUnchanged(stream, stream.sample({ [name]: !value }));
    }
  });

  it('rebuilds a record with optional members that are null or left out', () => {
    const required = new Set(stream.required);
    const sample = stream.sample();
    const bare = Object.fromEntries(Object.entries(sample).filter(([name]) => required.has(name)));
    expectUnchanged(stream, bare);
    expectUnchanged(
      stream,
      Object.fromEntries(
        Object.entries(sample).map(([name, value]) => [name, required.has(name) ? value : null]),
      ),
    );
  });

  it('fills every column of its tables except the time of loading', () => {
    const { accepted } = stream.job.read([stream.sample()]);
    for (const [name, table] of Object.entries(stream.tables)) {
      const filled = Object.keys(accepted[0]!.rows[name]![0]!).sort();
      expect(filled).toEqual([...targetOf(table).columns].sort());
    }
  });

  it('keeps undocumented members', () => {
    const record = stream.sample({ newborn: { big: [1] } });
    expectUnchanged(stream, record);
    expect(rowsOf(stream, record)[stream.name]![0]!['extra']).toBe('{"newborn":{"big":[1]}}');
  });

  it('rejects a record without an identifier, with the path', () => {
    for (const name of stream.required) {
      expect(stream.job.read([stream.sample({ [name]: null })]).rejected).toMatchObject([{ path: name }]);
    }
  });

  it('rejects an amount that is invalid, keeps one that no column can hold in extra, and takes the largest', () => {
    const { amount } = stream;
    for (const wide of ['9'.repeat(39), `-1${'0'.repeat(38)}`, String(2n ** 256n - 1n), '7'.repeat(1001)]) {
      const [row] = rowsOf(stream, stream.sample({ [amount]: wide }))[stream.name]!;
      expect(row).toMatchObject({ [amount]: null, extra: JSON.stringify({ [amount]: wide }) });
    }
    for (const refused of ['1e9', '9'.repeat(38) + 'x', `${'9'.repeat(39)}.5`, '-', '+1', 'NaN'])
      expect(stream.job.read([stream.sample({ [amount]: refused })]).rejected).toMatchObject([
        { path: amount },
      ]);
    for (const taken of [String(2n ** 120n - 1n), '9'.repeat(37), '9'.repeat(38), `-${'9'.repeat(38)}`])
      expectUnchanged(stream, stream.sample({ [amount]: taken }));
  });

  it('reads the position of a record that its schema refuses', () => {
    const record = { ...stream.sample(stream.positionMembers), newborn: 1, [stream.amount]: 'none' };
    const reading = stream.job.read([record]);
    expect(reading.rejected).toHaveLength(1);
    expect(reading.positions).toEqual([stream.position]);
  });
});

describe('jobs of streams without a checksum', () => {
  it('read every second twice', () => {
    const maturities = rebuiltStreams.map(({ job }) => job.maturitySeconds);
    expect(maturities.every((seconds) => seconds !== undefined && seconds >= 3600)).toBe(true);
  });

  it('stay behind the head if the source lags', () => {
    const delays = [validatorEvents, validatorComplaints, nominatorPoolEvents].map(
      ({ delaySeconds }) => delaySeconds,
    );
    expect(delays).toEqual([900, 900, 900]);
    expect([jettonTransfers, jettonBurns, nftTransfers].map(({ delaySeconds }) => delaySeconds)).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  it('are read for one pool at a time if the endpoint requires it', () => {
    expect(nominatorPoolEvents.scopes).toEqual({
      param: 'pool',
      column: 'pool_address',
      // The pools themselves stake: `plan` finds them there before any is known.
      seenIn: { dataset: 'validator_events', column: 'stake_holder_address' },
    });
  });
});

describe('jobs/jetton_transfers', () => {
  it('keeps an unknown owner, which is empty, apart from no owner', () => {
    const stream = rebuiltStreams.find(({ name }) => name === 'jetton_transfers')!;
    expectUnchanged(stream, sampleJettonTransfer({ source: '', destination: '' }));
  });

  it.skipIf(!hasCorpus)(`rebuilds every recorded transfer${hasCorpus ? '' : ` (${NO_CORPUS})`}`, () => {
    const stream = rebuiltStreams.find(({ name }) => name === 'jetton_transfers')!;
    const records = recordedJettonTransfers();
    expect(records).toHaveLength(1);
    for (const record of records) {
      expect(jettonTransfers.read([record]).accepted).toMatchObject([{ extra: {} }]);
      expectUnchanged(stream, record);
    }
  });
});

describe('jobs/validator_complaints', () => {
  const stream = rebuiltStreams.find(({ name }) => name === 'validator_complaints')!;

  it('takes a share of votes as a whole number or a fraction', () => {
    for (const approved_percent of [0, 100, 66.666_666_666_666_67, 0.1]) {
      expectUnchanged(stream, sampleComplaint({ approved_percent }));
    }
  });

  it('keeps votes in their order, and no votes apart from unknown ones', () => {
    expectUnchanged(stream, sampleComplaint({ voted_validators: [] }));
    const votes = [3, 1, 2].map((validator_index) => ({ validator_index }));
    expectUnchanged(stream, sampleComplaint({ voted_validators: votes }));
  });

  it('accepts an accused validator whose network address is unknown', () => {
    expectUnchanged(stream, sampleComplaint({ adnl_addr: null, stake_holder_address: null }));
  });

  it('is replaced by the second', () => {
    expect(validatorComplaints.replacesRows).toBe(true);
    expect([validatorEvents.replacesRows, nominatorPoolEvents.replacesRows]).toEqual([false, false]);
  });
});

describe('jobs of events', () => {
  it('accept what the type of an event leaves out', () => {
    const [events, pools] = ['validator_events', 'nominator_pool_events'].map((wanted) =>
      rebuiltStreams.find(({ name }) => name === wanted)!,
    );
    const { validator_pubkey, adnl_addr, election_id, reason, ...recovered } = sampleValidatorEvent();
    expect([validator_pubkey, adnl_addr, election_id, reason]).not.toContain(undefined);
    expectUnchanged(events!, { ...recovered, type: 'stake_recovered' });
    const { query_id, cycle_start, ...deposit } = samplePoolEvent();
    expect([query_id, cycle_start]).not.toContain(undefined);
    expectUnchanged(pools!, { ...deposit, type: 'deposit', balance_delta: '-1' });
  });
});
