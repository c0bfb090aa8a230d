/*
 * Compiles a folder of tools/ with the product, and runs one of its programs from there.
 *
 *   node tools/run.js <folder> <program> [arguments]
 *
 * The output of an earlier run stays and is compiled again only if its source has changed; the output of
 * removed sources is removed, so that no program loads it.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const [folder = '', program = '', ...args] = process.argv.slice(2);
const out = join(ROOT, 'node_modules/.cache/toncenter-etl', folder);

run(join(ROOT, 'node_modules/typescript/bin/tsc'), ['-p', join(ROOT, 'tools', folder, 'tsconfig.json')]);
for (const path of readdirSync(out, { recursive: true, encoding: 'utf8' })) {
  if (/^(src|jobs|test|tools)\/.*\.js$/.test(path) && !existsSync(join(ROOT, path.replace(/\.js$/, '.ts'))))
    rmSync(join(out, path));
}
run(join(out, 'tools', folder, `${program}.js`), args);

/** Ends this process if the other one did not succeed. */
function run(script, given) {
  const { status } = spawnSync(process.execPath, [script, ...given], { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
