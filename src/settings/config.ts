import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import * as z from 'zod';
import { messageOf, UsageError } from '../errors.ts';
import { parsePostgres, readDatabaseUrl } from './postgres-url.ts';
import { parseDuration, parseTime } from '../range.ts';
import { parseSchedules, type Schedule } from './schedule.ts';
import { findUnknown, readValues, workingDirectory, type UnknownSetting } from './read-values.ts';
import { parseRetention, type Retention } from './retention.ts';

/** What an operator may choose of how much is read. */
export interface Choices {
  /** Whose states are read: those of the watch list, or of every account that indexed rows name. */
  readonly accounts: 'watched' | 'seen';
  /** True: code and data of accounts are read too, as bags of cells. */
  readonly bocs: boolean;
}

/** Hosts of the public networks, without the key's network's API paths. */
const HOSTS = { mainnet: 'https://toncenter.com', testnet: 'https://testnet.toncenter.com' } as const;

/** Plans, in requests per second and network: without a key 1, with the free one 10. */
const RPS_WITHOUT_KEY = 1;
const RPS_WITH_KEY = 10;
/** The demo network's own limit: enough to be quick, and a limit all the same. */
export const RPS_OF_DEMO = 25;

const words = z.string().transform((text) => text.split(/[\s,]+/).filter((word) => word !== ''));
const duration = z.string().transform((text, context) => attempt(context, () => parseDuration(text)));

const Environment = z.object({
  DATABASE_URL: z
    .string()
    .superRefine((text, context) => void attempt(context, () => parsePostgres(text), ''))
    .optional(),
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
    .default('head'),
  ETL_FRESHNESS: duration.default(5),
  ETL_WATERMARK_DELAY: duration.default(30),
  ETL_PARTITION: z.enum(['day', 'week', 'month'], { error: 'is not day, week or month' }).default('month'),
  ETL_LISTEN: z
    .string()
    .refine((text) => text === 'off' || isAddress(text), { error: 'is neither host:port nor off' })
    .default('127.0.0.1:9465'),
  ETL_LAKE: z.string().min(1, { error: 'names no place' }).optional(),
  ETL_RETENTION: words
    .transform((all, context) => attempt(context, () => parseRetention(all)))
    .default({ seconds: new Map(), isInLake: false }),
  ETL_SCHEDULE: z
    .string()
    .transform((text, context) => attempt(context, () => parseSchedules(text)))
    .default([]),
  ETL_DATA_DIR: z.string().default(join(homedir(), '.toncenter-etl')),
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
export interface Config {
  /** Of `DATABASE_URL` and libpq's variables; undefined: the embedded server in `dataDir`. */
  readonly databaseUrl: string | undefined;
  readonly network: Network;
  /** Undefined for the demo network, whose host the program starts by itself. */
  readonly baseUrl: string | undefined;
  readonly apiKey: string | undefined;
  readonly rps: number;
  /** Attempts at a request, or at the database, before it counts as away. */
  readonly attempts: number;
  /** Whose states are looked up, and whether with code and data. */
  readonly choices: Choices;
  readonly datasets: readonly string[];
  /** `head`, `first` or a time, as given. */
  readonly since: string;
  /** Seconds. */
  readonly freshness: number;
  /** Seconds. */
  readonly watermarkDelay: number;
  readonly partition: 'day' | 'week' | 'month';
  /** `host:port` at which the daemon serves its status page and metrics; undefined: not at all. */
  readonly listen: string | undefined;
  /** The place of the lake that the daemon keeps up; undefined: none. */
  readonly lake: string | undefined;
  readonly retention: Retention;
  /** What the daemon does at certain moments instead of all the time. */
  readonly schedules: readonly Schedule[];
  readonly dataDir: string;
  /** Bytes. */
  readonly minFree: number;
  readonly logLevel: string;
  readonly logFormat: 'pretty' | 'json';
  /** How a run tells how far it is where it has no terminal: `json` only where it was asked for. */
  readonly progressFormat: 'text' | 'json';
  /** Names that look like settings and are none. */
  readonly unknownSettings: readonly UnknownSetting[];
}

/** The settings that exist, for the documentation's test. */
export const SETTING_NAMES: readonly string[] = Object.keys(Environment.shape);

interface ReadConfigOptions {
  /** What is wrong with the name of a dataset; undefined where nothing is. */
  readonly faultOfDataset?: (name: string) => string | undefined;
}

/**
 * Reads the environment and `.env` of the working directory; the environment wins.
 * @throws UsageError that names every variable that is wrong, all at once
 */
export function readConfig(
  environment: NodeJS.ProcessEnv = process.env,
  directory = workingDirectory(),
  { faultOfDataset = () => undefined }: ReadConfigOptions = {},
): Config {
  const values = readValues(environment, directory);
  const parsed = Environment.safeParse(values);
  const faults = [
    ...(parsed.success
      ? faultsBetween(parsed.data)
      : parsed.error.issues.map((issue) => faultIn(issue, values))),
    ...words.parse(values['ETL_DATASETS'] ?? '').flatMap((name) => {
      const fault = faultOfDataset(name);
      return fault === undefined ? [] : [`ETL_DATASETS: ${fault}`];
    }),
  ];
  if (!parsed.success || faults.length > 0) {
    // A slip in a name is often the reason for what is wrong elsewhere.
    const slips = findUnknown(values, SETTING_NAMES).map(
      ({ name, nearest }) =>
        `${name} is not a setting${nearest === undefined ? '' : `: did you mean ${nearest}?`}`,
    );
    throw new UsageError([...faults, ...slips].join('\n'), {
      hint: 'Settings come from the environment and from .env; README.md lists them.',
    });
  }
  return toConfig(parsed.data, values);
}

/** What single settings cannot know of each other. */
function faultsBetween({ ETL_RETENTION, ETL_LAKE }: z.infer<typeof Environment>): string[] {
  const isWithout = ETL_RETENTION.isInLake && ETL_LAKE === undefined;
  return isWithout ? ['ETL_RETENTION says lake, and ETL_LAKE names none'] : [];
}

function toConfig(env: z.infer<typeof Environment>, values: NodeJS.Dict<string>): Config {
  const { network, baseUrl } = source(env.TONCENTER_NETWORK);
  return {
    databaseUrl: readDatabaseUrl(env.DATABASE_URL, values),
    network,
    baseUrl,
    apiKey: env.TONCENTER_API_KEY,
    rps: env.TONCENTER_RPS ?? defaultRps(network, env.TONCENTER_API_KEY),
    attempts: env.ETL_ATTEMPTS,
    choices: { accounts: env.ETL_ACCOUNTS, bocs: env.ETL_ACCOUNT_BOCS === 'yes' },
    datasets: env.ETL_DATASETS,
    since: env.ETL_SINCE,
    freshness: env.ETL_FRESHNESS,
    watermarkDelay: env.ETL_WATERMARK_DELAY,
    partition: env.ETL_PARTITION,
    listen: env.ETL_LISTEN === 'off' ? undefined : env.ETL_LISTEN,
    lake: env.ETL_LAKE,
    retention: env.ETL_RETENTION,
    schedules: env.ETL_SCHEDULE,
    dataDir: resolve(env.ETL_DATA_DIR),
    minFree: env.ETL_MIN_FREE,
    logLevel: env.LOG_LEVEL,
    logFormat: env.LOG_FORMAT ?? (process.stderr.isTTY ? 'pretty' : 'json'),
    unknownSettings: findUnknown(values, SETTING_NAMES),
    progressFormat: env.LOG_FORMAT === 'json' ? 'json' : 'text',
  };
}

function defaultRps(network: Network, key: string | undefined): number {
  if (network === 'demo') return RPS_OF_DEMO;
  return key === undefined ? RPS_WITHOUT_KEY : RPS_WITH_KEY;
}

function source(network: string): { network: Network; baseUrl: string | undefined } {
  if (!isNetworkName(network))
    return { network: 'custom', baseUrl: network.replace(/\/+(api\/v[23]\/*)?$/, '') };
  return { network, baseUrl: network === 'demo' ? undefined : HOSTS[network] };
}

/** Port 0 is any free one. */
function isAddress(text: string): boolean {
  return /^(\[[\da-f:]+\]|[\w.-]+):\d{1,5}$/i.test(text) && Number(text.split(':').at(-1)) <= 65_535;
}

function isNetworkName(text: string): text is 'mainnet' | 'testnet' | 'demo' {
  return text === 'demo' || Object.hasOwn(HOSTS, text);
}

/** The values of the key and of the URL with its password are never repeated, wrong or not. */
function faultIn({ path, message }: z.core.$ZodIssue, values: NodeJS.Dict<string>): string {
  const name = String(path[0]);
  const isSecret = name === 'TONCENTER_API_KEY' || name === 'DATABASE_URL';
  return `${name}${isSecret ? '' : ` "${values[name] ?? ''}"`} ${message}`;
}

/** Runs a parser of this program within a schema: its sentence becomes the issue's. */
function attempt<T>(context: z.RefinementCtx, parse: () => T, prefix = 'is wrong: '): T {
  try {
    return parse();
  } catch (error) {
    context.addIssue({
      code: 'custom',
      message: `${prefix}${messageOf(error)}`,
    });
    return z.NEVER;
  }
}

/** Bytes of a size such as `5GB`, `500MB` or a plain number of bytes. */
function parseBytes(text: string): number {
  const match = /^(\d+(?:\.\d+)?)\s*([kmgt]?)b?$/i.exec(text.trim());
  if (match === null) throw new UsageError('write it like 5GB or 500MB');
  return Number(match[1]) * 1000 ** ['', 'k', 'm', 'g', 't'].indexOf((match[2] ?? '').toLowerCase());
}
