import { createHash, randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import type { paginateListObjectsV2, S3Client } from '@aws-sdk/client-s3';
import * as z from 'zod';
import { LakeError, UsageError, LakeAwayError, messageOf, toError } from '../errors.ts';
import type { Engine } from './engine.ts';
import { proxyOfProcess } from '../settings/config.ts';

/** A lake that is read or written, and the engine for its files. */
export interface Lake {
  readonly store: LakeStore;
  readonly engine: Engine;
}

/** Runs `work` with local copies of a table's files, which exist until it ends; undefined for missing files. */
export async function withFiles<T>(
  { store }: Lake,
  names: readonly string[],
  work: (paths: readonly (string | undefined)[]) => Promise<T>,
): Promise<T> {
  const fetched = await Promise.all(names.map((name) => store.fetch(name)));
  try {
    return await work(fetched.map((file) => file?.path));
  } finally {
    for (const file of fetched) await file?.release();
  }
}

/** SHA-256 of a file, in hex. */
export async function digestOf(path: string): Promise<string> {
  const digest = createHash('sha256');
  await pipeline(createReadStream(path), digest);
  return digest.digest('hex');
}

/** @throws UsageError: no table's log is at this location */
export function absent(location: string): never {
  throw new UsageError(`there is no lake at ${location}`, {
    hint: '`toncenter-etl export --out` makes one.',
  });
}

/** @throws LakeError: the log names a file that the lake lacks */
export function missing(path: string): never {
  throw new LakeError(`${path} is in the log, but its file is missing`, {
    hint: '`toncenter-etl verify --lake` lists everything that is missing.',
  });
}

/** Prefix of incomplete files: readers of lakes skip names that begin with `_`. */
export const PARTIAL = '_partial-';

export interface Listed {
  /** Below the lake, with `/` between folders. */
  readonly name: string;
  /** Unix seconds. */
  readonly changedAt: number;
}

/** The storage of a lake: a directory or a bucket. Names are below the lake, with `/` between folders. */
export interface LakeStore {
  readonly label: string;
  /** The files of a folder and of its subfolders, by name; none if the folder does not exist. */
  list(folder: string): Promise<Listed[]>;
  /** The top-level folders of the lake, by name. */
  folders(): Promise<string[]>;
  read(name: string): Promise<string>;
  /** Creates a file, completely or not at all. False if it exists already; then it is not changed. */
  create(name: string, text: string): Promise<boolean>;
  /** Stores a local file, completely or not at all. */
  put(name: string, path: string): Promise<void>;
  /** The path of a local file with these contents, until `release`; undefined if the lake has no such file. */
  fetch(name: string): Promise<Fetched | undefined>;
  remove(name: string): Promise<void>;
}

interface Fetched {
  readonly path: string;
  release(): Promise<void>;
}

/** Bytes in one request of a multipart upload. */
const PIECE = 16 * 2 ** 20;

/** By default the vendor's client waits without end for a server that does not answer. */
const WAITS = { connectionTimeout: 10_000, socketTimeout: 60_000 };

/** Error names if the object was created meanwhile. */
const TAKEN: ReadonlySet<string> = new Set(['PreconditionFailed', 'ConditionalRequestConflict']);
const ABSENT: ReadonlySet<string> = new Set(['NoSuchKey', 'NotFound']);

/**
 * A lake in a bucket, `s3://bucket/prefix`. The vendor's own client takes region, endpoint and keys from the usual
 * places. The server must support conditional writes (`If-None-Match: *`), as S3 does. `scratch` gives paths for files
 * that are read. The signal ends requests.
 * @throws UsageError if the location names no bucket, or the client is not installed
 */
export async function s3Store(
  location: string,
  scratch: (name: string) => string,
  signal?: AbortSignal,
): Promise<LakeStore> {
  const [, Bucket, rest = ''] = /^s3:\/\/([^/]+)\/?(.*)$/.exec(location) ?? [];
  if (Bucket === undefined)
    throw new UsageError(`${location} names no bucket: write it like s3://bucket/prefix`);
  const prefix = rest === '' || rest.endsWith('/') ? rest : `${rest}/`;
  const { sdk, Upload, client } = await openClient();
  const at = (name: string) => ({ Bucket, Key: `${prefix}${name}` });
  const until = signal && { abortSignal: signal };
  const asLakeError = <T>(work: Promise<T>) =>
    work.catch((cause: unknown) => failAt(location, cause, signal));
  return {
    label: location,
    list: (folder) =>
      asLakeError(
        list(sdk.paginateListObjectsV2({ client }, { Bucket, Prefix: prefix + folder }, until), prefix),
      ),
    folders: () =>
      asLakeError(
        foldersOf(
          sdk.paginateListObjectsV2({ client }, { Bucket, Prefix: prefix, Delimiter: '/' }, until),
          prefix,
        ),
      ),
    async read(name) {
      const { Body } = await asLakeError(client.send(new sdk.GetObjectCommand(at(name)), until));
      // An empty text would be a log without lines.
      if (Body === undefined) failAt(location, new Error(`the response to GET ${name} has no body`));
      return Body.transformToString();
    },
    async create(name, text) {
      const made = client.send(
        new sdk.PutObjectCommand({ ...at(name), Body: text, IfNoneMatch: '*' }),
        until,
      );
      return asLakeError(made.then(() => true, unless(TAKEN, false)));
    },
    async put(name, path) {
      const params = { ...at(name), Body: createReadStream(path) };
      const upload = new Upload({ client, params, partSize: PIECE });
      const abort = () => void upload.abort();
      signal?.addEventListener('abort', abort);
      await asLakeError(upload.done()).finally(() => signal?.removeEventListener('abort', abort));
    },
    async fetch(name) {
      const got = client.send(new sdk.GetObjectCommand(at(name)), until).catch(unless(ABSENT, undefined));
      const found = await asLakeError(got);
      if (!(found?.Body instanceof Readable)) return undefined;
      const path = scratch(randomUUID());
      await asLakeError(pipeline(found.Body, createWriteStream(path)));
      return { path, release: () => rm(path, { force: true }) };
    },
    remove: (name) =>
      asLakeError(client.send(new sdk.DeleteObjectCommand(at(name)), until).then(() => undefined)),
  };
}

const Address = z.object({
  request: z.object({ protocol: z.string(), hostname: z.string(), port: z.number().optional() }),
});

/**
 * The vendor's client. It uses a proxy if the environment names one for its endpoint.
 * @throws UsageError if no region is set, or the client is not installed
 */
export async function openClient() {
  const { sdk, Upload } = await loadSdk();
  // Every compatible server accepts addresses with the bucket in their path.
  const how = {
    forcePathStyle: true,
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: WAITS,
  } as const;
  const direct = new sdk.S3Client(how);
  await direct.config.region().catch((cause: unknown) => {
    throw new UsageError(`the lake is in a bucket, and no region is set: ${messageOf(cause)}`, {
      cause,
      hint: 'Set AWS_REGION, to any word if the server is not of Amazon.',
    });
  });
  const address = await addressOf(sdk, direct);
  const { protocol, hostname, port } = address;
  const proxy = proxyOfProcess(`${protocol}//${hostname}${port === undefined ? '' : `:${port}`}`);
  if (proxy === undefined) return { sdk, Upload, client: direct, address, proxy };
  const { HttpProxyAgent, HttpsProxyAgent } = await import('hpagent');
  const options = { keepAlive: true, proxy: proxy.href };
  const agents = { httpAgent: new HttpProxyAgent(options), httpsAgent: new HttpsProxyAgent(options) };
  const requestHandler = { ...WAITS, ...agents };
  return { sdk, Upload, client: new sdk.S3Client({ ...how, requestHandler }), address, proxy };
}

type Sdk = Awaited<ReturnType<typeof loadSdk>>['sdk'];

/** Only a request knows its endpoint, so one is built but not sent. */
async function addressOf(sdk: Sdk, client: S3Client): Promise<z.infer<typeof Address>['request']> {
  let address: z.infer<typeof Address>['request'] = { protocol: 'https:', hostname: 's3.amazonaws.com' };
  client.middlewareStack.add(
    () => (args) => {
      address = Address.parse(args).request;
      throw new Error('seen');
    },
    { step: 'build', name: 'seeAddress' },
  );
  await client.send(new sdk.ListBucketsCommand()).catch(() => undefined);
  client.middlewareStack.remove('seeAddress');
  return address;
}

/** Imported only here, because few lakes are in buckets. */
async function loadSdk() {
  try {
    const sdk = await import('@aws-sdk/client-s3');
    const { Upload } = await import('@aws-sdk/lib-storage');
    return { sdk, Upload };
  } catch (cause) {
    throw new UsageError('the client of S3 is not installed', {
      cause,
      hint: 'Install without --omit=optional, or npm install @aws-sdk/client-s3 @aws-sdk/lib-storage.',
    });
  }
}

type Pages = ReturnType<typeof paginateListObjectsV2>;

async function foldersOf(pages: Pages, prefix: string): Promise<string[]> {
  const folders: string[] = [];
  for await (const { CommonPrefixes = [] } of pages)
    for (const { Prefix = '' } of CommonPrefixes) folders.push(Prefix.slice(prefix.length, -1));
  return folders;
}

async function list(pages: Pages, prefix: string): Promise<Listed[]> {
  const listed: Listed[] = [];
  for await (const { Contents = [] } of pages)
    for (const { Key = '', LastModified } of Contents)
      listed.push({ name: Key.slice(prefix.length), changedAt: (LastModified?.getTime() ?? 0) / 1000 });
  return listed;
}

function unless<T>(names: ReadonlySet<string>, value: T): (error: unknown) => T {
  return (error) => {
    if (error instanceof Error && names.has(error.name)) return value;
    throw error;
  };
}

/** @throws LakeAwayError that names the settings for keys and addresses */
export function failAt(location: string, cause: unknown, signal?: AbortSignal): never {
  signal?.throwIfAborted();
  throw new LakeAwayError(`${location}: ${messageOf(cause) || toError(cause).name}`, {
    cause,
    hint: 'Check AWS_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_ENDPOINT_URL_S3, which name the server and the account.',
  });
}
