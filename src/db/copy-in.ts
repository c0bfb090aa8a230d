import pg from 'pg';

/** What of the driver's connection a COPY needs. */
interface CopyTarget {
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
}

/** A query of the driver that answers the server's readiness for a COPY with its data. */
class CopyIn extends pg.Query {
  private readonly data: Buffer;

  constructor(text: string, data: Buffer, done: (error: Error | null | undefined) => void) {
    super(text, undefined, done);
    this.data = data;
  }

  /** Called by the driver; its own queries refuse. */
  handleCopyInResponse(connection: CopyTarget): void {
    connection.sendCopyFromChunk(this.data);
    connection.endCopyFrom();
  }
}

/** Runs statements without parameters, of which one is a `copy … from stdin` that takes the data. */
export function copyIn(client: pg.ClientBase, statements: string, data: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    client.query(
      new CopyIn(statements, data, (error) => {
        if (error == null) resolve();
        else reject(error);
      }),
    );
  });
}
