import pg from 'pg';
import { oneAtATime } from '../../one-at-a-time.ts';
import type { Identity } from './identity.ts';
import type { Connection, Server } from './servers.ts';
import { lastRow, PINNED } from './pinned.ts';
import { translate } from './translate.ts';

/** An address that leads nowhere must not hold up the others for longer. */
const TIMEOUT_MS = 3000;

interface SurveyOptions {
  readonly connection: Connection;
  readonly identity: Identity;
  readonly applicationName: string;
}

/** Asks every address of a connection string, on new connections, which server it leads to. */
export interface Survey {
  /** Where there are several addresses: an old primary may answer, while another of them leads to the new one. */
  readonly others: () => Promise<void>;
  /** The same, while the caller goes on. */
  readonly besides: () => void;
  /** @throws ServerChangedError, or DatabaseUnavailableError where nothing answers */
  readonly confirm: () => Promise<void>;
}

export function createSurvey({ connection, identity, applicationName }: SurveyOptions): Survey {
  const hosts = [...byHost(connection.servers).values()];
  const askAll = () =>
    Promise.allSettled(
      hosts.map(async (kinds) => {
        const row = await askFirst(kinds, (server) => {
          const config = { ...connection.login, ...server, application_name: applicationName };
          return askOnce(config, identity);
        });
        if (hosts.length > 1) identity.notice(row);
        else identity.check(row);
      }),
    );
  const askAllOnce = oneAtATime(askAll);
  const others = async () => {
    if (hosts.length > 1) await askAllOnce();
  };
  return {
    others,
    besides: () => void others(),
    confirm: async () => {
      const answers = await askAll();
      identity.confirm();
      const [failure] = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer] : []));
      if (failure !== undefined && answers.every(({ status }) => status === 'rejected'))
        throw translate(failure.reason);
    },
  };
}

function byHost(servers: readonly Server[]): Map<string, Server[]> {
  const hosts = new Map<string, Server[]>();
  for (const server of servers) {
    const key = `${server.host}:${server.port}`;
    hosts.set(key, [...(hosts.get(key) ?? []), server]);
  }
  return hosts;
}

/** With and without TLS, until one answers. */
async function askFirst<T>(kinds: readonly Server[], ask: (server: Server) => Promise<T>): Promise<T> {
  let failure: unknown;
  for (const kind of kinds) {
    try {
      return await ask(kind);
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

async function askOnce(config: pg.ClientConfig, identity: Identity): Promise<unknown> {
  const client = new pg.Client({ ...config, connectionTimeoutMillis: TIMEOUT_MS });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await lastRow(client, `${PINNED}; select ${identity.columns()}`);
  } finally {
    await client.end().catch(() => undefined);
  }
}
