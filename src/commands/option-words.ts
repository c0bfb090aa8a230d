import { type Command, InvalidArgumentError } from 'commander';
import { UsageError } from '../errors.ts';
import { nearestName } from '../nearest.ts';
import { programName } from '../terminal/program-name.ts';
import { parseRange, type Range, TIME_FORMS } from '../range.ts';

/** Reads the names of `--only`, separated by commas. An empty list is an error, such as an empty variable in a script. */
export function datasetList(text: string): string[] {
  const names = text.split(',').flatMap((word) => word.trim() || []);
  if (names.length === 0)
    throw new InvalidArgumentError('--only names no dataset: `toncenter-etl datasets` lists them.');
  return names;
}

export function wholeNumber(text: string): number {
  if (!/^[1-9]\d*$/.test(text)) throw new InvalidArgumentError('It must be a whole number above 0.');
  return Number(text);
}

/** The name of a role of Postgres. */
export function roleName(text: string): string {
  if (text === '' || Buffer.byteLength(text) > LONGEST_NAME)
    throw new InvalidArgumentError(`It must have 1 to ${LONGEST_NAME} bytes.`);
  if (/^(?:pg_.*|public|none)$/.test(text)) throw new InvalidArgumentError('Postgres reserves this name.');
  return text;
}

/** Postgres truncates longer names. */
const LONGEST_NAME = 63;

/** Reads one more number. Commander passes the ones before. */
export function wholeNumbers(text: string, before: readonly number[] = []): number[] {
  return [...before, wholeNumber(text)];
}

/** Split into two lines, because one would not fit 80 columns. */
const RELATIVE = TIME_FORMS.indexOf('-6h');

/** The forms of times, for a command's `--help`. */
export const TIMES = `Times: ${TIME_FORMS.slice(0, RELATIVE).join(', ')},
       ${TIME_FORMS.slice(RELATIVE).join(', ')}`;

/** The end of a command's `--help`: commands as they are called here. */
export function examples(...lines: string[]): string {
  const called = lines.map((line) => `  ${line.replace('toncenter-etl ', `${programName} `)}`);
  return ['', 'Examples:', ...called].join('\n');
}

/** Refuses words after a default command of `parent`: they are misspelled commands. */
export function refuseWords(parent: Command, byDefault: Command): Command {
  return byDefault.allowExcessArguments().hook('preAction', () => {
    const [word] = byDefault.args;
    if (word === undefined) return;
    const names = parent.commands.map((command) => command.name());
    const near = nearestName(word, names);
    parent.error(
      `error: unknown command '${word}'\n(${near === undefined ? `It may be ${names.join(', ')}` : `Did you mean ${near}?`})`,
    );
  });
}

interface Needing {
  /** What needs a range, if not all that was asked for does. */
  readonly names?: string;
  /** A sentence about what needs no range. */
  readonly otherwise: string;
}

/** @throws UsageError if an end of the range is missing */
export function parseEnds(
  { from, to }: { readonly from?: string | undefined; readonly to?: string | undefined },
  now: number,
  { names = '', otherwise }: Needing,
): Range {
  if (from !== undefined && to !== undefined) return parseRange(from, to, now);
  throw new UsageError(`--from and --to are needed together${names === '' ? '' : `: for ${names}`}`, {
    hint: `Write times like 2026-11-01, -6h or now. ${otherwise}`,
  });
}
