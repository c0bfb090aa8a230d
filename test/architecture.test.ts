import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { forward } from '../src/dataset/paginators/forward.ts';
import { createFinalityDelay } from '../src/crawl/watermark/finality-delay.ts';
import { LOCKS } from '../src/locks.ts';
import { packageRoot } from '../src/package.ts';

const text = readFileSync(join(packageRoot, 'docs/architecture.md'), 'utf8');

test('every file and folder that is named exists', () => {
  const named = [...text.matchAll(/`((?:src|jobs|migrations)\/[^`]*)`/g)].map(([, path]) => path ?? '');
  expect(named.filter((path) => !existsSync(join(packageRoot, path)))).toEqual([]);
});

/** Files of the program and of its schema, without the simulator, that match. */
function filesWith(pattern: RegExp): string[] {
  return ['src', 'migrations']
    .flatMap((folder) =>
      readdirSync(join(packageRoot, folder), { recursive: true, encoding: 'utf8' }).map(
        (name) => `${folder}/${name}`,
      ),
    )
    .filter((file) => /\.(ts|sql)$/.test(file) && !file.startsWith('src/simulator/'))
    .filter((file) => pattern.test(readFileSync(join(packageRoot, file), 'utf8')))
    .sort();
}

test('few files take advisory locks, by keys that one file lists', () => {
  const taking = filesWith(/\bpg_(try_)?advisory_/);
  expect(taking).toEqual([
    'migrations/feeds.sql',
    'src/embedded/keeper.ts',
    'src/ledger/leases.ts',
    'src/postgres/database.ts',
  ]);
  const feeds = readFileSync(join(packageRoot, 'migrations/feeds.sql'), 'utf8');
  const named = [...feeds.matchAll(/'toncenter-etl\/([^/']+)\//g)].map(([, name]) => name);
  expect(named).toEqual([LOCKS.report]);
  expect(new Set(Object.values(LOCKS)).size).toBe(Object.keys(LOCKS).length);
});

test('every error is a class of one file', () => {
  expect(filesWith(/\bclass \w+ extends \w*Error\b/)).toEqual(['src/errors.ts']);
});

test('the example of settling agrees with the code', () => {
  const settling = createFinalityDelay(30);
  expect([
    settling.addPoll({ newest: 1002, utime: 990 }, 2),
    settling.addPoll({ newest: 1032, utime: 990 }, 32),
    settling.addPoll({ newest: 1062, utime: 1055 }, 62),
    settling.addPoll({ newest: 1092, utime: 1085 }, 92),
    settling.addPoll({ newest: 1392, utime: 1385 }, 392),
    settling.addPoll({ newest: 1392, utime: 1385 }, 422),
  ]).toEqual([
    { utime: 732, everywhere: 702 },
    { utime: 990, everywhere: 990 },
    { utime: 1020, everywhere: 990 },
    { utime: 1085, everywhere: 1055 },
    { utime: 1115, everywhere: 1085 },
    { utime: 1385, everywhere: 1385 },
  ]);
});

test('the example of the forward cursor agrees with the code', () => {
  const paginator = forward({ order: 'total' });
  const rows = [100, 100, 103, 107, 107, 107, 107, 107, 107, 110, 115].map((utime, id) => ({
    utime,
    lt: '0',
    id: `${id}`,
  }));
  const seen: object[] = [];
  for (let cursor = paginator.start({ from: 100, to: 200 }), size = 5; ;) {
    const offset = Number(paginator.request(cursor, size)['offset']);
    const positions = rows.filter(({ utime }) => utime >= cursor.at).slice(offset, offset + size);
    const step = paginator.next(cursor, { positions, size });
    seen.push({ at: cursor.at, skip: cursor.skip, offset, completed: step.completed });
    if (step.cursor === undefined) break;
    cursor = step.cursor;
  }
  expect(seen).toEqual([
    { at: 100, skip: 0, offset: 0, completed: { from: 100, to: 107 } },
    { at: 107, skip: 2, offset: 1, completed: undefined },
    { at: 107, skip: 6, offset: 5, completed: { from: 107, to: 200 } },
  ]);
});
