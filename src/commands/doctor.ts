import { writeFile } from 'node:fs/promises';
import { arch, cpus, platform, release, totalmem } from 'node:os';
import { openApi, type Store } from '../app.ts';
import { systemClock } from '../clock.ts';
import { readChainInfo } from '../crawl/watermark/chain-info.ts';
import { stopOnSignals } from '../stop.ts';
import { readBundle } from '../db/read/support-bundle.ts';
import { examineHead, examineNetwork } from '../doctor/examine-chain.ts';
import { examineDisk } from '../doctor/examine-disk.ts';
import { examineDatabase } from '../doctor/examine-database.ts';
import type { Finding } from '../doctor/finding.ts';
import { EtlError, EXIT, isAbort, UsageError, type ExitCode } from '../errors.ts';
import { version } from '../package.ts';
import { passwordsIn, redact } from '../doctor/redact.ts';
import { openSource } from '../source.ts';
import type { Invocation } from './command.ts';
import { withStore } from './with-store.ts';

interface DoctorFlags {
  /** Where to write everything that a bug report needs. */
  readonly bundle?: string;
  readonly json?: boolean;
}

/** `doctor`: compares the database, the settings and the machine with what they should be. Exit 1 where something is found. */
export async function doctor(invocation: Invocation, flags: DoctorFlags): Promise<ExitCode> {
  const { config } = invocation;
  return withStore(invocation, 'toncenter-etl doctor', async (store) => {
    const findings = [
      ...(await examineDatabase(store.database, () => systemClock.now() / 1000)),
      ...(await examineDisk(config.minFree, store.embedded?.dataDir)),
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

/** One request: whether the API answers, with this key, for the network that the database holds. */
async function examineApi({ config, logger, now }: Invocation, store: Store): Promise<Finding[]> {
  const stop = stopOnSignals(logger);
  try {
    const source = await openSource(config, store, 'still');
    const { baseUrl } = source;
    const api = openApi({ config: { ...config, attempts: 1 }, store, logger, stop, baseUrl });
    try {
      const chain = await readChainInfo(api, stop.finishing);
      const network = await examineNetwork(store.database, chain);
      return config.network === 'demo' ? network : [...network, ...examineHead(chain, now)];
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
