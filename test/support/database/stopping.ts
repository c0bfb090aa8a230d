import type { Database, OpenTransaction } from '../../../src/postgres/database.ts';
import { untilAborted } from '../../../src/stop.ts';

/** Wraps a transaction's methods: the result calls `stop`, and waits for it. */
type Stopping = (session: OpenTransaction, stop: () => Promise<void>) => Partial<OpenTransaction>;

/** A database whose transactions stop at some point, until they are released. */
export function stopping(real: Database, at: Stopping) {
  const [gate, reached] = [new AbortController(), new AbortController()];
  const stop = () => {
    reached.abort();
    return untilAborted(gate.signal);
  };
  const database: Database = {
    ...real,
    transaction: (work) => real.transaction((session) => work({ ...session, ...at(session, stop) })),
  };
  return { database, stopped: untilAborted(reached.signal), goOn: () => gate.abort() };
}
