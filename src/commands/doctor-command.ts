import type { Command } from 'commander';
import { openApi } from '../app/open-crawl.ts';
import type { Store } from '../app/open-store.ts';
import { systemClock } from '../clock.ts';
import { type ChainInfo, readChainInfo } from '../crawl/chain-info.ts';
import { createWatermarkReader } from '../crawl/watermark/watermark.ts';
import { chooseDatasets } from '../dataset/dataset.ts';
import { loadDatasets } from '../dataset/load-jobs.ts';
import { readsOnly } from '../postgres/read-only.ts';
import { examineChain, findingOf, examineRoutes } from '../doctor/examine-chain.ts';
import {
  examineDatabase,
  type DoctorFinding,
  examineSettings,
  examineDisk,
} from '../doctor/examine-database.ts';
import { writeBundle } from '../doctor/write-bundle.ts';
import { EXIT, type ExitCode } from '../errors.ts';
import { examples } from './option-words.ts';
import { closeAfter, type Invocation, runCommand, withHost, withStore } from './run-command.ts';

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

/** Prints each finding with its remedy. */
function printFindings(findings: readonly DoctorFinding[]): void {
  for (const { check, what, remedy } of findings) {
    console.log(`${check.padEnd(10)}${what}`);
    console.log(`${'remedy'.padStart(12)}  ${remedy}`);
  }
  const count = findings.length;
  console.log(count === 0 ? 'nothing is wrong' : `${count} finding${count === 1 ? '' : 's'}`);
}
