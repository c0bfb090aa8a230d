import { writeFile, statfs } from 'node:fs/promises';
import { arch, cpus, platform, release, totalmem } from 'node:os';
import { openApi, type Store } from '../app.ts';
import { systemClock } from '../clock.ts';
import type { Config } from '../config.ts';
import { readChainInfo, type ChainInfo } from '../crawl/watermark/chain-info.ts';
import { stopOnSignals } from '../stop.ts';
import { networkName, readNetwork } from '../db/connection/network.ts';
import { readBundle } from '../db/read/support-bundle.ts';
import { examineDatabase } from '../doctor/examine-database.ts';
import type { Finding } from '../doctor/finding.ts';
import { EtlError, EXIT, isAbort, UsageError, type ExitCode } from '../errors.ts';
import { version } from '../package.ts';
import { formatDuration } from '../range.ts';
import { passwordsIn, redact } from '../doctor/redact.ts';
import { openSource } from '../source.ts';
import type { Invocation } from './command.ts';
import { withStore } from './with-store.ts';

interface DoctorFlags {
  /** Where to write everything that a bug report needs. */
  readonly bundle?: string;
  readonly json?: boolean;
}

/** A chain whose newest block is older than this stands still, or the server that was asked lags; seconds. */
const STALE = 300;
/** Who reads the findings of a machine with so little left will soon have another. */
const NEARLY = 1.5;

/** `doctor`: compares the database, the settings and the machine with what they should be. Exit 1 where something is found. */
export async function doctor(invocation: Invocation, flags: DoctorFlags): Promise<ExitCode> {
  const { config } = invocation;
  return withStore(invocation, 'toncenter-etl doctor', async (store) => {
    const findings = [
      ...(await examineDatabase(store.database, () => systemClock.now() / 1000)),
      ...(await examineDisk(config, store)),
      ...(await examineApi(invocation, store)),
    ];
    if (flags.json === true) console.log(JSON.stringify(findings, null, 2));
    else tellFindings(findings);
    if (flags.bundle !== undefined) await writeBundle(flags.bundle, invocation, store, findings);
    return findings.length === 0 ? EXIT.done : EXIT.failed;
  });
}

function tellFindings(findings: readonly Finding[]): void {
  for (const { check, what, remedy } of findings) {
    console.log(`${check.padEnd(10)}${what}`);
    console.log(`${'remedy'.padStart(12)}  ${remedy}`);
  }
  console.log(findings.length === 0 ? 'nothing is wrong' : `${findings.length} findings`);
}

/** Of a server on another machine nobody here knows the disk. */
async function examineDisk({ minFree }: Config, { embedded }: Store): Promise<Finding[]> {
  if (embedded === undefined) return [];
  const { bavail, bsize } = await statfs(embedded.dataDir);
  const free = bavail * bsize;
  if (free >= NEARLY * minFree) return [];
  const gigabytes = (bytes: number) => `${(bytes / 1e9).toFixed(1)} GB`;
  return [
    {
      check: 'disk',
      what: `${gigabytes(free)} are free where ${embedded.dataDir} lies; a crawl pauses below ${gigabytes(minFree)} (ETL_MIN_FREE)`,
      remedy: 'Free some space, set ETL_DATA_DIR to a larger disk, or lower ETL_MIN_FREE.',
    },
  ];
}

/** One request: whether the API answers, with this key, for the network that the database holds. */
async function examineApi({ config, logger, now }: Invocation, store: Store): Promise<Finding[]> {
  const stop = stopOnSignals(logger);
  try {
    const source = await openSource(config, store, 'still');
    const { baseUrl } = source;
    const api = openApi({ config: { ...config, attempts: 1 }, store, logger, stop, baseUrl });
    try {
      const chain = await readChainInfo(api, stop.finishing);
      return [
        ...(await examineNetwork(store, chain)),
        ...(config.network === 'demo' ? [] : examineHead(chain, now)),
      ];
    } finally {
      await api.close();
      await source.close();
    }
  } catch (error) {
    if (!(error instanceof EtlError) || isAbort(error)) throw error;
    return [{ check: 'api', what: error.message, remedy: error.hint ?? 'Try again later.' }];
  } finally {
    stop.dispose();
  }
}

async function examineNetwork({ database }: Store, { globalId }: ChainInfo): Promise<Finding[]> {
  const held = await readNetwork(database);
  if (held === undefined || held === globalId) return [];
  return [
    {
      check: 'network',
      what: `the database holds ${networkName(held)}, the API serves ${networkName(globalId)}`,
      remedy:
        'Set DATABASE_URL (or ETL_DATA_DIR) to another database, or TONCENTER_NETWORK to the network it holds.',
    },
  ];
}

function examineHead({ last }: ChainInfo, now: number): Finding[] {
  const age = now - last.utime;
  if (age >= -STALE && age <= STALE) return [];
  return [
    {
      check: 'head',
      what:
        age > 0
          ? `the newest block that the API shows is ${formatDuration(age)} old`
          : `the newest block that the API shows lies ${formatDuration(-age)} in the future`,
      remedy:
        age > 0
          ? 'The API lags or the network stands still: what is older is read meanwhile, nothing is lost.'
          : "This machine's clock is slow: let it follow a time server.",
    },
  ];
}

/** One file, redacted as a whole: whatever a table or a setting holds, no key and no password is in it. */
async function writeBundle(
  path: string,
  { config }: Invocation,
  store: Store,
  findings: readonly Finding[],
): Promise<void> {
  const { databaseUrl, apiKey, baseUrl, ...settings } = config;
  const bundle = {
    program: { version, node: process.version, platform: platform(), release: release(), arch: arch() },
    machine: { cpus: cpus().length, memory: totalmem() },
    settings: {
      ...settings,
      baseUrl: baseUrl ?? null,
      apiKey: apiKey === undefined ? 'not set' : 'set',
      databaseUrl: databaseUrl === undefined ? 'not set: embedded' : store.database.label,
    },
    database: { label: store.database.label, version: store.database.version },
    findings,
    tables: await readBundle(store.database),
  };
  const secrets = [apiKey, ...passwordsIn(databaseUrl, baseUrl, store.embedded?.url)];
  const text = redact(`${JSON.stringify(bundle, null, 2)}\n`, secrets);
  try {
    await writeFile(path, text, { mode: 0o600 });
  } catch (error) {
    throw new UsageError(`the bundle cannot be written to ${path}: ${String(error)}`, {
      hint: 'Give --bundle a file in a directory that can be written to.',
    });
  }
  console.log(`bundle    ${path}: no key, no password; have a look before you send it`);
}
