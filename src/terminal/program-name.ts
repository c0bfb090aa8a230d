import { existsSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { packageRoot } from '../package.ts';

const NAME = 'toncenter-etl';

/** Calls this program in the current directory. */
export const programName = nameOf(process.argv[1] ?? '', process.cwd());

/** Variables that go before each printed command. */
let variables = '';

/** From now on, printed commands begin with these variables, as a shell takes them: `TONCENTER_NETWORK=demo `. */
export function callWith(environment: string): void {
  variables = environment;
}

/** A command that a person can paste: `commandLine('status')` is `TONCENTER_NETWORK=demo npx toncenter-etl status`. */
export function commandLine(words: string): string {
  return `${variables}${programName} ${words}`;
}

/** The text with its commands in backticks as a person can paste them. */
export function withCommands(text: string): string {
  return text.replaceAll(`\`${NAME} `, () => `\`${commandLine('')}`);
}

/**
 * How to call this program again: `npx toncenter-etl` within the checkout and in a package that depends on it, or the
 * name alone if the program was called by its name. Otherwise it is the path of the script, such as the copy that `npx`
 * caches for a package that is not installed.
 */
export function nameOf(script: string, directory: string): string {
  if (isBelow(directory, packageRoot) || hasBin(directory)) return `npx ${NAME}`;
  const isLink = basename(script) === NAME;
  if (isLink && basename(dirname(script)) !== '.bin') return NAME;
  return isLink ? quote(script) : `node ${quote(script)}`;
}

function isBelow(path: string, directory: string): boolean {
  return !relative(directory, path).startsWith('..');
}

/** True if npx finds the program in this directory or in one above. */
function hasBin(directory: string): boolean {
  if (existsSync(join(directory, 'node_modules', '.bin', NAME))) return true;
  const parent = dirname(directory);
  return parent !== directory && hasBin(parent);
}

/** A path as a shell takes it. */
export function quote(path: string): string {
  return /^[\w./@-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
