import { connect, createServer, type Socket } from 'node:net';

/** A connection between the workers and a server that can be cut, and stays when the server has moved. */
export interface Proxy {
  readonly port: number;
  /** The target of new connections. */
  target: number;
  /** Resets every connection, and returns how many there were. */
  drop(): number;
  close(): Promise<void>;
}

/** `host`: the address that it listens on. */
export async function openProxy(target: number, host = '127.0.0.1'): Promise<Proxy> {
  const pairs = new Map<Socket, Socket>();
  const server = createServer((near) => {
    const far = connect(proxy.target, '127.0.0.1');
    pairs.set(near, far);
    const end = () => {
      pairs.delete(near);
      near.destroy();
      far.destroy();
    };
    for (const socket of [near, far]) socket.on('error', end).on('close', end).setNoDelay(true);
    near.pipe(far).pipe(near);
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const address = server.address();
  const proxy: Proxy = {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    target,
    drop() {
      const dropped = pairs.size;
      for (const [near, far] of pairs) {
        near.resetAndDestroy();
        far.resetAndDestroy();
      }
      return dropped;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        proxy.drop();
      }),
  };
  return proxy;
}
