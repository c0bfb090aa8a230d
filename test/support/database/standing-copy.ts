import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { untilAborted } from '../../../src/stop.ts';

/** A proxy to a database that stops the first COPY of a kind. */
export interface StandingCopy {
  readonly url: string;
  /** Resolves when the COPY is stopped. */
  readonly stopped: Promise<void>;
  goOn(): void;
  close(): Promise<void>;
}

/** Bytes of a message: its type, and its length with these four bytes. */
const HEAD_BYTES = 5;
const LENGTH_BYTES = 4;
/** The first message of a connection has no type. */
const FIRST = { type: '', head: LENGTH_BYTES } as const;

/**
 * Leads to a database. It stops within the data of the first COPY whose statement is like `copy`, after at
 * least one message and `bytes` bytes, until it is released. To the server it is a process that froze while
 * it sent.
 */
export async function openStandingCopy(url: string, copy: RegExp, bytes = 0): Promise<StandingCopy> {
  const [gate, reached] = [new AbortController(), new AbortController()];
  const { hostname, port } = new URL(url);
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    const end = () => [near, far].forEach((either) => either.destroy());
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.setNoDelay(true).on('error', end).on('close', end);
    }
    far.pipe(near);
    forward(near, far, async (statement, sent) => {
      if (reached.signal.aborted || sent < bytes || !copy.test(statement)) return;
      reached.abort();
      await untilAborted(gate.signal);
    }).catch(end);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const own = new URL(url);
  const address = server.address();
  own.host = `127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
  return {
    url: own.href,
    stopped: untilAborted(reached.signal),
    goOn: () => gate.abort(),
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Forwards message by message; `behindData` is awaited after each message with data of a COPY, and gets its length. */
async function forward(
  near: Socket,
  far: Socket,
  behindData: (statement: string, sent: number) => Promise<void>,
): Promise<void> {
  let rest: Buffer = Buffer.alloc(0);
  let statement: string | undefined;
  let sent = 0;
  for await (const chunk of near as AsyncIterable<Buffer>) {
    rest = Buffer.concat([rest, chunk]);
    for (;;) {
      const { type, head } =
        statement === undefined ? FIRST : { type: rest.toString('latin1', 0, 1), head: HEAD_BYTES };
      if (rest.length < head) break;
      const length = head - LENGTH_BYTES + rest.readInt32BE(head - LENGTH_BYTES);
      if (rest.length < length) break;
      far.write(rest.subarray(0, length));
      statement = type === 'Q' ? rest.toString('utf8', head, length) : (statement ?? '');
      sent = type === 'd' ? sent + length : 0;
      if (type === 'd') await behindData(statement, sent);
      rest = rest.subarray(length);
    }
  }
}
