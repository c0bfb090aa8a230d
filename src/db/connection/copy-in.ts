import pg from 'pg';

/** What of the driver's connection a COPY needs. */
interface CopyTarget {
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
  sendCopyFail(reason: string): void;
}

/** A query of the driver that answers the server's readiness for a COPY with its data. */
class CopyIn extends pg.Query {
  private readonly pieces: Iterable<string | Buffer>;

  constructor(
    text: string,
    pieces: Iterable<string | Buffer>,
    done: (error: Error | null | undefined) => void,
  ) {
    super(text, undefined, done);
    this.pieces = pieces;
  }

  /** Called by the driver; its own queries refuse. */
  handleCopyInResponse(connection: CopyTarget): void {
    try {
      for (const piece of this.pieces)
        connection.sendCopyFromChunk(typeof piece === 'string' ? Buffer.from(piece) : piece);
      connection.endCopyFrom();
    } catch (error) {
      connection.sendCopyFail(String(error));
    }
  }
}

/**
 * Runs statements without parameters, of which one is a `copy … from stdin` that takes the pieces, one after another.
 *
 * Not pg-copy-streams: it answers the same internal call of the driver, and was measured to be no cheaper (a page's rows
 * arrive about a sixth sooner, for about a sixth more of this process' time). What it adds, waiting for a slow socket, a
 * page does not need: it is in memory as a whole anyway.
 */
export function copyIn(
  client: pg.ClientBase,
  statements: string,
  pieces: Iterable<string | Buffer>,
): Promise<void> {
  return new Promise((resolve, reject) => {
    client.query(
      new CopyIn(statements, pieces, (error) => {
        if (error == null) resolve();
        else reject(error);
      }),
    );
  });
}
