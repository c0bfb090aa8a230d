import { closeSync, fstatSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NONE } from '../../../src/simulator/network/chain/tables/block-table.ts';
import type { ChainLedger } from '../../../src/simulator/network/ledger/chain-ledger.ts';
import type { Ledger, TransactionSource } from '../../../src/simulator/ledger.ts';

const WRITE_BYTES = 1 << 22;

/**
 * The JSON of every transaction, written once to an unlinked temporary file in the order (now, lt, account),
 * so that a page of that order is one read. It is for benchmarks, in which the simulator must cost next to
 * nothing.
 */
class Prebuilt {
  private readonly file: number;
  /** The offset of each row's text; it ends one byte, the comma, before the next one. */
  private readonly starts: Float64Array;
  private readonly ends: Float64Array;

  /** `rows` in the order of the file; `directory` of the file, default the system's. */
  constructor(
    source: TransactionSource,
    rows: Iterable<number>,
    count: number,
    directory: string = tmpdir(),
  ) {
    const home = mkdtempSync(join(directory, 'simulator-'));
    this.file = openSync(join(home, 'transactions'), 'w+');
    // An open file needs no name: nothing is left behind, whatever ends this process.
    rmSync(home, { recursive: true });
    this.starts = new Float64Array(count);
    this.ends = new Float64Array(count);
    this.write(source, rows);
  }

  get bytes(): number {
    return fstatSync(this.file).size;
  }

  /** Texts of rows joined by commas: neighbors in the file are read at once. */
  texts(rows: readonly number[]): Buffer {
    const size = rows.reduce((sum, row) => sum + this.end(row) - this.start(row) + 1, 0);
    const body = Buffer.allocUnsafe(Math.max(0, size - 1));
    let at = 0;
    for (let index = 0; index < rows.length;) {
      const first = rows[index] ?? 0;
      let last = first;
      while (++index < rows.length && this.start(rows[index] ?? 0) === this.end(last) + 1)
        last = rows[index] ?? 0;
      const length = this.end(last) - this.start(first);
      readSync(this.file, body, at, length, this.start(first));
      at += length;
      if (at < body.length) at += body.write(',', at);
    }
    return body;
  }

  close(): void {
    closeSync(this.file);
  }

  private start(row: number): number {
    return this.starts[row] ?? 0;
  }

  private end(row: number): number {
    return this.ends[row] ?? 0;
  }

  private write(source: TransactionSource, rows: Iterable<number>): void {
    let chunk: Buffer[] = [];
    let waiting = 0;
    let at = 0;
    const flush = (): void => {
      const bytes = Buffer.concat(chunk);
      for (let done = 0; done < bytes.length;) done += writeSync(this.file, bytes, done);
      chunk = [];
      waiting = 0;
    };
    for (const row of rows) {
      const text = Buffer.from(`${source.texts([row]).toString()},`);
      this.starts[row] = at;
      at += text.length;
      this.ends[row] = at - 1;
      chunk.push(text);
      waiting += text.length;
      if (waiting > WRITE_BYTES) flush();
    }
    flush();
  }
}

/** The ledger, with the texts of all current transactions served from a file. */
export function prebuild(ledger: ChainLedger): { readonly ledger: Ledger; readonly dispose: () => void } {
  const { world, transactions } = ledger;
  const { byTime, count } = world.transactions;
  const rows = Array.from({ length: count }, (_, index) => byTime.get(index));
  const registered = rows.filter((row) => world.tickOf(row) !== NONE);
  const prebuilt = new Prebuilt(transactions, registered, count);
  const served: Ledger = {
    blocks: ledger.blocks,
    messages: ledger.messages,
    traces: ledger.traces,
    actions: ledger.actions,
    jettonTransfers: ledger.jettonTransfers,
    jettonBurns: ledger.jettonBurns,
    nftTransfers: ledger.nftTransfers,
    staking: ledger.staking,
    entities: ledger.entities,
    node: ledger.node,
    transactions: { ...transactions, texts: (wanted) => prebuilt.texts(wanted) },
    firstSeqno: ledger.firstSeqno,
    masterchainBlock: (seqno) => ledger.masterchainBlock(seqno),
    addressBook: (addresses) => ledger.addressBook(addresses),
    metadata: (addresses) => ledger.metadata(addresses),
  };
  return { ledger: served, dispose: () => prebuilt.close() };
}
