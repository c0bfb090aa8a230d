import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Recorded data and descriptions of the API, which are next to a checkout if they are present at all. */
const root = join(import.meta.dirname, '..', '..', '..', 'shared');

export const corpusFolder = join(root, 'corpus');
const openapiFolder = join(root, 'openapi');

export const hasCorpus = existsSync(corpusFolder);
export const hasOpenapi = existsSync(join(openapiFolder, 'v3.json'));

/** Why a test did not run, for its title. */
export const NO_CORPUS = 'skipped: no recorded data beside this checkout';
export const NO_OPENAPI = 'skipped: no description of the API beside this checkout';

export function readOpenapi(version: 'v2' | 'v3' = 'v3'): unknown {
  return JSON.parse(readFileSync(join(openapiFolder, `${version}.json`), 'utf8'));
}

/** Every JSON document below a folder or in a file of the corpus; a `.jsonl` file holds one a line. */
export function readCorpus(path: string): unknown[] {
  return files(join(corpusFolder, path)).flatMap((file) => {
    const text = readFileSync(file, 'utf8');
    const documents = file.endsWith('.jsonl') ? text.split('\n').filter((line) => line !== '') : [text];
    return documents.map((document): unknown => JSON.parse(document));
  });
}

function files(path: string): string[] {
  if (statSync(path).isFile()) return [path];
  return readdirSync(path).flatMap((name) => files(join(path, name)));
}

type Json = Record<string, unknown>;

/** Every recorded transaction, of both networks, whether in a list, in a trace's map or in a tree. */
export function recordedTransactions(): Json[] {
  const folders = ['mainnet', 'testnet', 'responses/v3'];
  return folders.flatMap((folder) => found(readCorpus(folder), 'prev_trans_lt'));
}

/** Every recorded trace of a folder, or of all folders if none is named. */
export function recordedTraces(
  folders: readonly string[] = ['mainnet', 'testnet', 'responses/v3/traces'],
): Json[] {
  return folders.flatMap((folder) => found(readCorpus(folder), 'trace_info'));
}

/** Every recorded transfer of jettons. */
export function recordedJettonTransfers(): Json[] {
  return found(readCorpus('responses/v3/jetton_transfers'), 'source_wallet');
}

/** Every recorded block. */
export function recordedBlocks(): Json[] {
  return found(readCorpus('responses/v3/masterchainInfo'), 'gen_utime');
}

/** Objects at any depth that have a member of this name. */
function found(value: unknown, member: string): Json[] {
  if (typeof value !== 'object' || value === null) return [];
  if (!Array.isArray(value) && member in value) return [value as Json];
  return Object.values(value).flatMap((inner) => found(inner, member));
}
