/*
 * Runs a part of the suite on other versions of Node, which come as npm packages: `node tools/nodes/run.js
 * [22 24]`, and after `--` the tests to run.
 */
import { spawnSync } from 'node:child_process';

/** A part of every room: HTTP, Postgres, crawling, real processes, a terminal. */
const PART = [
  'test/api',
  'test/postgres',
  'test/crawl/streams/backfill.test.ts',
  'test/commands/bad-input.test.ts',
];

const [versions, tests] = [[], []];
let list = versions;
for (const word of process.argv.slice(2)) {
  if (word === '--') list = tests;
  else list.push(word);
}
for (const version of versions.length > 0 ? versions : ['20', '22', '24']) {
  console.log(`\n== Node ${version}`);
  const part = tests.length > 0 ? tests : PART;
  const command = [
    '--yes',
    '--package',
    `node@${version}`,
    '--',
    'node',
    'node_modules/vitest/vitest.mjs',
    'run',
    ...part,
  ];
  const { status } = spawnSync('npx', command, { stdio: 'inherit' });
  if (status !== 0) process.exitCode = 1;
}
