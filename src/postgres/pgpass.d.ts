declare module 'pgpass' {
  interface PgpassEntry {
    readonly host: string;
    readonly port: number;
    readonly database: string;
    readonly user: string;
  }

  /** Looks a password up in `PGPASSFILE` or `~/.pgpass`. */
  function pgpass(connection: PgpassEntry, done: (password: string | undefined) => void): void;
  namespace pgpass {
    /** Sets the stream for warnings about the file's permissions, and returns the previous one. */
    function warnTo(stream: NodeJS.WritableStream): NodeJS.WritableStream;
  }
  export = pgpass;
}
