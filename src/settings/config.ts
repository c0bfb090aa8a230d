import { join, resolve } from 'node:path';
import * as z from 'zod';
import { messageOf, UsageError } from '../errors.ts';
import { POSTGRES_VARIABLES, readDatabase } from './postgres-url.ts';
import { parseDuration, parseTime } from '../range.ts';
import { parseSchedules } from './schedule.ts';
import { readProxies, findUnknown, homeDirectory, readValues, workingDirectory } from './read-values.ts';
import { withoutLogin } from './redact.ts';

/** Choices of the operator about how much is read. */
export interface Choices {
  /** Whose states are read: accounts on the watch list, or all accounts in indexed rows. */
  readonly accounts: 'watched' | 'seen';
  /** True: code and data of accounts are read too, as bags of cells. */
  readonly bocs: boolean;
}

/** Base URLs of the public networks. */
const HOSTS = { mainnet: 'https://toncenter.com', testnet: 'https://testnet.toncenter.com' } as const;

/** Requests per second of the API's plans: without a key, and with a free one. */
const RPS_WITHOUT_KEY = 1;
const RPS_WITH_KEY = 10;
/** The limit of the demo network: fast, but still a limit. */
const RPS_OF_DEMO = 25;

const words = z.string().transform((text) => text.split(/[\s,]+/).filter((word) => word !== ''));
const duration = z.string().transform((text, context) => attempt(context, () => parseDuration(text)));

const Environment = z.object({
  DATABASE_URL: z.string().optional(),
  TONCENTER_NETWORK: z
    .string()
    .refine((text) => isNetworkName(text) || z.url({ protocol: /^https?$/ }).safeParse(text).success, {
      error: 'is neither mainnet, testnet, demo nor the base URL of a host',
    })
    .default('mainnet'),
  TONCENTER_API_KEY: z.string().optional(),
  TONCENTER_RPS: z.coerce
    .number({ error: 'is not a number of requests per second' })
    .positive()
    .max(1000)
    .optional(),
  ETL_ATTEMPTS: z.coerce
    .number({ error: 'is not a number of attempts' })
    .int({ error: 'is not a whole number of attempts' })
    .min(1, { error: 'is below 1' })
    .max(100)
    .default(6),
  ETL_ACCOUNTS: z.enum(['watched', 'seen'], { error: 'is not watched or seen' }).default('watched'),
  ETL_ACCOUNT_BOCS: z.enum(['no', 'yes'], { error: 'is not yes or no' }).default('no'),
  ETL_DATASETS: words.refine((names) => names.length > 0, { error: 'names no dataset' }).default(['core']),
  ETL_SINCE: z
    .string()
    .superRefine((text, context) => {
      if (text !== 'first' && text !== 'head') attempt(context, () => parseTime(text, 0));
    })
    .optional(),
  ETL_FRESHNESS: duration.default(5),
  ETL_WATERMARK_DELAY: duration.default(30),
  ETL_PARTITION: z.enum(['day', 'week', 'month'], { error: 'is not day, week or month' }).default('month'),
  ETL_LISTEN: z
    .string()
    .refine((text) => text === 'off' || isAddress(text), { error: 'is neither host:port nor off' })
    .default('127.0.0.1:9465'),
  ETL_LAKE: z
    .string()
    .superRefine((location, context) => {
      attempt(context, () => isBucket(location));
    })
    .optional(),
  ETL_RETENTION: words
    .transform((all, context) => attempt(context, () => parseRetention(all)))
    .default({ seconds: new Map(), isInLake: false }),
  ETL_SCHEDULE: z
    .string()
    .transform((text, context) => attempt(context, () => parseSchedules(text)))
    .default([]),
  ETL_DATA_DIR: z.string().optional(),
  ETL_MIN_FREE: z
    .string()
    .transform((text, context) => attempt(context, () => parseBytes(text)))
    .default(5e9),
  LOG_LEVEL: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'silent'], {
      error: 'is not trace, debug, info, warn, error or silent',
    })
    .default('info'),
  LOG_FORMAT: z.enum(['pretty', 'json'], { error: 'is not pretty or json' }).optional(),
});

export type Network = 'mainnet' | 'testnet' | 'demo' | 'custom';

/** The environment, parsed once. */
export interface Config extends ReturnType<typeof toConfig> {
  /** From `DATABASE_URL` and libpq's variables; undefined: the embedded server in `dataDir`. */
  readonly databaseUrl: string | undefined;
  /** Settings that have no effect. */
  readonly warnings: readonly SettingsWarning[];
}

/** A name or value in the environment or `.env` that has no effect. */
export interface SettingsWarning {
  readonly what: string;
  readonly remedy: string;
}

/** The names of all settings. The documentation's test uses them. */
export const SETTING_NAMES: readonly string[] = Object.keys(Environment.shape);

/**
 * Reads the environment and `.env` of the working directory. The environment wins. `faultOfDataset` says what is wrong
 * with the name of a dataset; undefined if it is right.
 * @throws UsageError that names every wrong variable at once
 */
export function readConfig(
  environment: NodeJS.ProcessEnv = process.env,
  directory = workingDirectory(),
  { faultOfDataset = () => undefined }: { faultOfDataset?: (name: string) => string | undefined } = {},
): Config {
  const read = readValues(environment, directory);
  const { values } = read;
  const parsed = Environment.safeParse(values);
  const server = sentenceOr(() => readDatabase(values['DATABASE_URL'], values));
  const proxies = sentenceOr(() => readProxies(values));
  const unknown = findUnknown(read, [...SETTING_NAMES, ...POSTGRES_VARIABLES]);
  const faults = [
    ...read.faults,
    ...(typeof server === 'string' ? [`${nameOfServer(values)} ${server}`] : []),
    ...(typeof proxies === 'string' ? [proxies] : []),
    ...(parsed.success
      ? conflictingSettings(parsed.data)
      : parsed.error.issues.map((issue) => faultIn(issue, values))),
    ...faultsOfDatasets(values, parsed.data, faultOfDataset),
  ];
  if (parsed.success && typeof server !== 'string' && faults.length === 0) {
    if (environment === process.env) copyToProcess(values);
    const remedy = 'Correct it or remove it from DATABASE_URL or the PG variables.';
    const useless = server.warnings.map((what) => ({ what, remedy }));
    const warnings = [...unknown.map(unknownSetting), ...useless];
    return { ...toConfig(parsed.data, values), databaseUrl: server.url, warnings };
  }
  // A misspelled name is often the reason for another fault.
  const slips = unknown.map(
    ({ name, nearest }) =>
      `${name} is not a setting${nearest === undefined ? '' : `: did you mean ${nearest}?`}`,
  );
  throw new UsageError([...faults, ...slips].join('\n'), {
    hint: 'Settings come from the environment and from .env; README.md lists them.',
  });
}

function nameOfServer(values: NodeJS.Dict<string>): string {
  return 'DATABASE_URL' in values ? 'DATABASE_URL' : 'the connection of the PG variables';
}

/** Faults in the names of datasets, in every setting that contains some. */
function faultsOfDatasets(
  values: NodeJS.Dict<string>,
  parsed: z.infer<typeof Environment> | undefined,
  faultOf: (name: string) => string | undefined,
): string[] {
  const named: readonly (readonly [string, readonly string[]])[] = [
    ['ETL_DATASETS', words.parse(values['ETL_DATASETS'] ?? '')],
    ['ETL_RETENTION', [...(parsed?.ETL_RETENTION.seconds.keys() ?? [])]],
    ['ETL_SCHEDULE', parsed?.ETL_SCHEDULE.flatMap(({ only = [] }) => only) ?? []],
  ];
  return named.flatMap(([setting, names]) =>
    names.flatMap((name) => {
      const fault = faultOf(name);
      return fault === undefined ? [] : [`${setting}: ${fault}`];
    }),
  );
}

function unknownSetting({ name, nearest }: ReturnType<typeof findUnknown>[number]): SettingsWarning {
  return {
    what: `${name} is not a setting and has no effect`,
    remedy:
      nearest === undefined
        ? 'Remove it from the environment or .env.'
        : `Write ${nearest} if you mean it, or remove ${name} from the environment or .env.`,
  };
}

/** The result of `read`, or the message of its UsageError. */
function sentenceOr<T>(read: () => T): T | string {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return error.message;
  }
}

/**
 * Libraries read these variables from the process' environment, so those in `.env` are copied there. Empty values are
 * removed: compose files pass them for variables that are not set, and libraries would use them.
 */
function copyToProcess(values: NodeJS.Dict<string>): void {
  for (const name of new Set([...Object.keys(process.env), ...Object.keys(values)])) {
    if (!/^(?:AWS_\w+|(?:HTTPS?|ALL|NO)_PROXY|PGPASSFILE)$/i.test(name)) continue;
    if (values[name] === undefined) Reflect.deleteProperty(process.env, name);
    else process.env[name] = values[name];
  }
}

/** The proxy for a URL from the process' environment, which includes the variables of `.env`. */
export function proxyOfProcess(url: string): URL | undefined {
  return readProxies(process.env)(url);
}

/** Faults that concern two settings. */
function conflictingSettings({ ETL_RETENTION, ETL_LAKE }: z.infer<typeof Environment>): string[] {
  const isWithout = ETL_RETENTION.isInLake && ETL_LAKE === undefined;
  return isWithout ? ['ETL_RETENTION contains lake, but ETL_LAKE is not set'] : [];
}

function toConfig(env: z.infer<typeof Environment>, values: NodeJS.Dict<string>) {
  const { network, baseUrl } = source(env.TONCENTER_NETWORK);
  return {
    /** Completes the URL of another server with libpq's variables. */
    completeUrl: (url: string) => readDatabase(url, values).url ?? url,
    network,
    /** Undefined for the demo network, whose server this program starts. */
    baseUrl,
    apiKey: env.TONCENTER_API_KEY,
    /** The proxy for a URL. The demo network uses none. */
    proxyFor: network === 'demo' ? () => undefined : readProxies(values),
    rps: env.TONCENTER_RPS ?? defaultRps(network, env.TONCENTER_API_KEY),
    /** Attempts at a request, or at the database, before the program gives up. */
    attempts: env.ETL_ATTEMPTS,
    choices: { accounts: env.ETL_ACCOUNTS, bocs: env.ETL_ACCOUNT_BOCS === 'yes' },
    datasets: env.ETL_DATASETS,
    /**
     * `head`, `first` or a time, as given. Undefined: the start that the database has stored, or at the first start
     * the head.
     */
    since: env.ETL_SINCE,
    freshnessSeconds: env.ETL_FRESHNESS,
    watermarkDelaySeconds: env.ETL_WATERMARK_DELAY,
    partition: env.ETL_PARTITION,
    /** `host:port` of the daemon's status page and metrics; undefined: not served. */
    listen: env.ETL_LISTEN === 'off' ? undefined : env.ETL_LISTEN,
    /** The location of the lake that the daemon writes; undefined: none. */
    lake: env.ETL_LAKE,
    retention: env.ETL_RETENTION,
    /** What the daemon runs on a schedule instead of all the time. */
    schedules: env.ETL_SCHEDULE,
    /** The directory of the embedded server; undefined if the user has no home directory and `ETL_DATA_DIR` is not set. */
    dataDir: dataDirOf(env.ETL_DATA_DIR),
    /** Bytes. */
    minFree: env.ETL_MIN_FREE,
    logLevel: env.LOG_LEVEL,
    logFormat: env.LOG_FORMAT ?? (process.stderr.isTTY ? 'pretty' : 'json'),
    /** Format of the progress without a terminal: `json` only if LOG_FORMAT asks for it. */
    progressFormat: env.LOG_FORMAT === 'json' ? 'json' : 'text',
  } as const;
}

export function dataDirOf(given: string | undefined): string | undefined {
  if (given !== undefined) return resolve(given);
  const home = homeDirectory();
  return home && join(home, '.toncenter-etl');
}

/** @throws UsageError if there is no directory for the embedded server */
export function requireDataDir({ dataDir }: Pick<Config, 'dataDir'>): string {
  if (dataDir !== undefined) return dataDir;
  throw new UsageError('no directory for the embedded database: this user has no home directory', {
    hint: 'Set ETL_DATA_DIR or HOME to a directory that can be written to, or set DATABASE_URL.',
  });
}

function defaultRps(network: Network, key: string | undefined): number {
  if (network === 'demo') return RPS_OF_DEMO;
  return key === undefined ? RPS_WITHOUT_KEY : RPS_WITH_KEY;
}

/** The settings of a run against the simulated network of this process, with its data in a directory of its own. */
export function configOfDemo(given: Config, dataDir: string): Config {
  return { ...given, network: 'demo', baseUrl: undefined, dataDir, rps: RPS_OF_DEMO };
}

function source(network: string): { network: Network; baseUrl: string | undefined } {
  if (!isNetworkName(network))
    return { network: 'custom', baseUrl: network.replace(/\/+(api\/v[23]\/*)?$/, '') };
  return { network, baseUrl: network === 'demo' ? undefined : HOSTS[network] };
}

/** Accepts port 0, which means any free port. */
function isAddress(text: string): boolean {
  return /^(\[[\da-f:]+\]|[\w.-]+):\d{1,5}$/i.test(text) && Number(text.split(':').at(-1)) <= 65_535;
}

function isNetworkName(text: string): text is 'mainnet' | 'testnet' | 'demo' {
  return text === 'demo' || Object.hasOwn(HOSTS, text);
}

/** The sentence about a wrong value. It never contains the key, nor a login that another value contains by mistake. */
function faultIn({ path, message }: z.core.$ZodIssue, values: NodeJS.Dict<string>): string {
  const name = String(path[0]);
  const value = withoutLogin(values[name] ?? '');
  return `${name}${name === 'TONCENTER_API_KEY' ? '' : ` "${value}"`} ${withoutLogin(message)}`;
}

/** Runs a parser within a schema. Its error becomes an issue. */
function attempt<T>(context: z.RefinementCtx, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    context.addIssue({
      code: 'custom',
      message: `is wrong: ${messageOf(error)}`,
    });
    return z.NEVER;
  }
}

/**
 * True for a bucket, false for a directory.
 * @throws UsageError for any other kind of URL, which would become the name of a directory
 */
export function isBucket(location: string): boolean {
  if (location.trim() === '') throw new UsageError('the location of the lake is empty');
  if (location.startsWith('s3://')) return true;
  if (/^\w[\w+.-]+:\/\/|^s3:/i.test(location))
    throw new UsageError(
      `"${withoutLogin(location)}" is not a location for a lake: name a directory, or s3://bucket/prefix`,
    );
  return false;
}

/** Bytes of a size such as `5GB`, `500MB` or a plain number of bytes. */
function parseBytes(text: string): number {
  const match = /^(\d+(?:\.\d+)?)\s*([kmgt]?)b?$/i.exec(text.trim());
  const isForgotten = match?.[2] === '' && Number(match[1]) > 0 && Number(match[1]) < 1e6;
  if (match === null || isForgotten) throw new UsageError('write it like 5GB or 500MB');
  return Number(match[1]) * 1000 ** ['', 'k', 'm', 'g', 't'].indexOf((match[2] ?? '').toLowerCase());
}

/**
 * Reads how long rows are kept from words such as `transactions:90d` and `lake`.
 * @throws UsageError
 */
function parseRetention(all: readonly string[]) {
  const kept = all.filter((word) => word !== 'lake').map(parseKept);
  const twice = kept.find(([name], index) => kept.findIndex(([other]) => other === name) !== index);
  if (twice !== undefined) throw new UsageError(`${twice[0]} is named twice`);
  return {
    /** Seconds for which each dataset is kept. A dataset that is not named is kept forever. */
    seconds: new Map(kept),
    /** True: rows are dropped only after the lake was verified to have them. */
    isInLake: all.includes('lake'),
  };
}

/** Parses `transactions:90d` into the dataset and its seconds. */
function parseKept(text: string): [string, number] {
  const [dataset, duration, ...rest] = text.split(':');
  if (dataset === undefined || duration === undefined || rest.length > 0)
    throw new UsageError('write it like transactions:90d,blocks:90d');
  const seconds = parseDuration(duration);
  if (seconds > 0) return [dataset, seconds];
  throw new UsageError(`${dataset} would be dropped as soon as it is stored: its time must be above 0`);
}
