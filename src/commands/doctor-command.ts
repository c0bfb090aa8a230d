import { writeFile } from 'node:fs/promises';
import { arch, cpus, platform, release, totalmem } from 'node:os';
import type { Command } from 'commander';
import { openApi } from '../app/open-crawl.ts';
import type { Store } from '../app/open-store.ts';
import { systemClock } from '../clock.ts';
import { type ChainInfo, readChainInfo } from '../crawl/source-chain.ts';
import { createWatermarkReader } from '../crawl/watermark/watermark.ts';
import { chooseDatasets } from '../dataset/dataset.ts';
import { loadDatasets } from '../dataset/load-jobs.ts';
import { readsOnly, type Database } from '../postgres/database.ts';
import {
  examineChain,
  findingOf,
  examineRoutes,
  examineDatabase,
  type DoctorFinding,
  examineSettings,
  examineDisk,
} from '../doctor/examine.ts';
import { EXIT, type ExitCode, messageOf, UsageError } from '../errors.ts';
import { examples } from './option-words.ts';
import { closeAfter, type Invocation, runCommand, withHost, withStore } from './run-command.ts';
import type { Config } from '../settings/config.ts';
import { readBundle } from '../read/stored-status.ts';
import { version } from '../package.ts';
import { createRedactor, passwordsIn, pathIn } from '../settings/redact.ts';

export function defineDoctor(command: Command): void {
  command
    .option('--bundle <file>', 'also write one redacted file for a bug report')
    .option('--json', 'for programs')
    .addHelpText('after', examples('toncenter-etl doctor', 'toncenter-etl doctor --bundle ./bundle.json'))
    .action((flags: DoctorFlags) => runCommand((invocation) => doctor(invocation, flags)));
}

interface DoctorFlags {
  /** The file for everything that a bug report needs. */
  readonly bundle?: string;
  readonly json?: boolean;
}

/** `doctor`: checks the database, the settings and the machine. Exits with 1 if it finds something. */
async function doctor(invocation: Invocation, flags: DoctorFlags): Promise<ExitCode> {
  const { config } = invocation;
  return withStore(invocation, 'toncenter-etl doctor', async (store) => {
    const findings = [
      ...(await examineSettings(config)),
      ...(await examineDatabase(store.database, () => systemClock.now() / 1000)),
      ...(await examineDisk(config.minFree, store.embedded?.dataDir)),
      ...(await examineApi(invocation, store)),
    ];
    if (flags.bundle !== undefined) {
      const { database, embedded } = store;
      await writeBundle(flags.bundle, { config, database, embeddedUrl: embedded?.url, findings });
    }
    if (flags.json === true) console.log(JSON.stringify(findings, null, 2));
    else printFindings(findings);
    if (flags.bundle !== undefined && flags.json !== true) {
      console.log(
        `bundle    ${flags.bundle}: it contains no key and no password; check it before you send it`,
      );
    }
    return findings.length === 0 ? EXIT.done : EXIT.failed;
  });
}

async function examineApi(invocation: Invocation, store: Store): Promise<DoctorFinding[]> {
  if (await readsOnly(store.database)) {
    console.error('the API was not checked: the database is read-only, and it stores the budget of requests');
    return [];
  }
  const config = { ...invocation.config, attempts: 1 };
  const now = config.network === 'demo' ? undefined : invocation.now;
  try {
    return await withHost(invocation, store, (opened) =>
      closeAfter(openApi({ ...invocation, ...opened, config }), async (api) => {
        const read = (signal: AbortSignal) => readChainInfo(api, signal);
        const readWatermark = (info: ChainInfo, signal: AbortSignal) =>
          createWatermarkReader({
            ...{ api, info, clock: systemClock, delaySeconds: 0, joinedUntil: info.last.utime },
          }).read(signal);
        const { finishing } = opened.stop;
        const ofChain = await examineChain({ ...store, read, readWatermark, finishing, now });
        // If even the head could not be read, each route would fail in the same way.
        if (ofChain.some(({ check }) => check === 'budget' || check === 'api')) return ofChain;
        const datasets = chooseDatasets(config.datasets, await loadDatasets());
        const asking = {
          api,
          datasets,
          choices: config.choices,
          chain: await read(finishing),
          signal: finishing,
        };
        return [...ofChain, ...(await examineRoutes(asking))];
      }),
    );
  } catch (error) {
    return [findingOf(error)];
  }
}

function printFindings(findings: readonly DoctorFinding[]): void {
  for (const { check, what, remedy } of findings) {
    console.log(`${check.padEnd(10)}${what}`);
    console.log(`${'remedy'.padStart(12)}  ${remedy}`);
  }
  const count = findings.length;
  console.log(count === 0 ? 'nothing is wrong' : `${count} finding${count === 1 ? '' : 's'}`);
}

interface BundleOptions {
  readonly config: Config;
  readonly database: Database;
  /** The URL of the embedded server, whose password is secret, too; undefined if `DATABASE_URL` is set. */
  readonly embeddedUrl: string | undefined;
  readonly findings: readonly DoctorFinding[];
}

/**
 * Writes everything that a bug report needs to one file. The file is redacted as a whole: it contains no key and no
 * password, whatever a table or setting contains.
 * @throws UsageError if the file cannot be written
 */
async function writeBundle(
  path: string,
  { config, database, embeddedUrl, findings }: BundleOptions,
): Promise<void> {
  const { databaseUrl, apiKey, baseUrl, ...settings } = config;
  const bundle = {
    program: { version, node: process.version, platform: platform(), release: release(), arch: arch() },
    machine: { cpus: cpus().length, memory: totalmem() },
    settings: {
      ...settings,
      baseUrl: baseUrl ?? null,
      apiKey: apiKey === undefined ? 'not set' : 'set',
      databaseUrl: databaseUrl === undefined ? 'not set: embedded' : database.label,
    },
    database: { label: database.label, version: database.version },
    findings,
    tables: await readBundle(database),
  };
  const redact = createRedactor([
    apiKey,
    ...passwordsIn(databaseUrl, baseUrl, embeddedUrl),
    ...pathIn(baseUrl),
  ]);
  const text = redact(`${JSON.stringify(bundle, null, 2)}\n`);
  try {
    await writeFile(path, text, { mode: 0o600 });
  } catch (error) {
    throw new UsageError(`the bundle cannot be written to ${path}: ${messageOf(error)}`, {
      hint: 'Give --bundle a file in a directory that can be written to.',
    });
  }
}
