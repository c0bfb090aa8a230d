import type { Clock } from '../../../clock.ts';
import type { ServedNetwork } from '../../head.ts';
import type { View } from '../../network-view.ts';
import { CorpusLedger } from './corpus-ledger.ts';
import { readRecorded } from './recorded.ts';

/** Recorded data: all of it is visible, always. */
export class CorpusSource implements ServedNetwork {
  readonly ledger: CorpusLedger;
  headTime: number;

  /** The network is read off the directory's name: `testnet` in it means testnet, else mainnet. */
  constructor(directory: string, clock: Clock) {
    const network = directory.includes('testnet') ? 'testnet' : 'mainnet';
    this.ledger = new CorpusLedger(readRecorded(directory), network, Math.floor(clock.now() / 1000));
    this.headTime = this.ledger.lastUtime;
  }

  view(): View {
    const { firstSeqno, lastSeqno } = this.ledger;
    return {
      headTime: this.headTime,
      head: lastSeqno,
      seesMasterchain: (seqno) => seqno >= firstSeqno && seqno <= lastSeqno,
    };
  }
}
