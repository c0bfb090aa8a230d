import pg from 'pg';
import { toError } from '../errors.ts';

/** A query that hands over the data of a `copy … to stdout`. */
class CopyOut extends pg.Query {
  private readonly onData: (data: Buffer) => void;
  private readonly done: (error: Error | null | undefined) => void;
  private failure: Error | undefined;

  constructor(text: string, onData: (data: Buffer) => void, done: (error: Error | null | undefined) => void) {
    super(text, undefined, (error) => this.done(error));
    this.onData = onData;
    this.done = (error) => done(error ?? this.failure);
  }

  /** Called by the driver. Its own queries drop the data. An error that is thrown here would end the process. */
  handleCopyData({ chunk }: { readonly chunk: Buffer }): void {
    if (this.failure !== undefined) return;
    try {
      this.onData(chunk);
    } catch (error) {
      this.failure = toError(error);
    }
  }
}

/** Runs a `copy … to stdout`. The data is the driver's own buffer: the caller must copy what it keeps. */
export function copyOut(
  client: pg.ClientBase,
  statement: string,
  onData: (data: Buffer) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    client.query(
      new CopyOut(statement, onData, (error) => {
        if (error == null) resolve();
        else reject(error);
      }),
    );
  });
}
