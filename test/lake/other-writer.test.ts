import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { exportRows } from '../../src/commands/export-command.ts';
import { withLake, openLakeReader } from '../../src/lake/open-lake.ts';
import { openCrawledStore, type CrawledStore } from '../support/database/crawled-store.ts';
import { exported, invocationOf, logIn, verified, type Outcome } from '../support/lake.ts';
import { twoDays } from '../support/two-days.ts';
import { thorough } from '../support/thorough.ts';

let store: CrawledStore;
let directory: string;

const ALL = { from: '2026-01-31', to: '2026-02-02' };

beforeAll(async () => {
  store = await openCrawledStore(twoDays);
  directory = await mkdtemp(join(tmpdir(), 'toncenter-etl-other-writer-'));
});
afterAll(async () => {
  await store.close();
  await rm(directory, { recursive: true, force: true });
});

type Wanted = Partial<Parameters<typeof exported>[1]> & { readonly out: string };

const run = (wanted: Wanted): Promise<Outcome> =>
  exported(store.url, { ...ALL, format: 'parquet', ...wanted });

const written = ({ printed }: Omit<Outcome, 'errors'>): string[] =>
  printed.flatMap((line) => /^written (\w+)\//.exec(line)?.[1] ?? []);

test('a table that cannot be written is named, and the other tables are written', async () => {
  const out = join(directory, 'faulty');
  const only = ['blocks', 'jetton_transfers', 'nft_transfers'];
  await run({ only, out, to: '2026-02-01' });
  const broken = join(out, 'jetton_transfers', '_delta_log', `${'0'.repeat(19)}1.json`);
  await writeFile(broken, 'no JSON');
  const { code, printed } = await run({ only, out });
  expect(code).toBe(1);
  expect(written({ code, printed })).toEqual(expect.arrayContaining(['blocks', 'nft_transfers']));
  await rm(broken);
  expect((await run({ only, out })).code).toBe(0);
});

describe('a table of a lake that another program has written to', () => {
  const table = 'jetton_transfers';
  const only = [table];
  const out = () => join(directory, 'foreign');
  const folder = () => join(out(), table);
  const foreignFile = 'day=2026-02-01/part-00001-c000.zstd.parquet';
  const lines = (actions: readonly object[]) =>
    actions.map((action) => `${JSON.stringify(action)}\n`).join('');
  const commitFile = async () => {
    const { version } = await logIn(out(), table);
    return join(folder(), '_delta_log', `${String(version + 1).padStart(20, '0')}.json`);
  };

  /** Like `optimize` of delta-rs: it replaces a part by a file of its own. */
  async function optimize(dataChange = false): Promise<string> {
    await rm(out(), { recursive: true, force: true });
    await run({ only, out: out() });
    const [, last] = (await logIn(out(), table)).parts;
    const path = last?.path ?? '';
    await copyFile(join(folder(), path), join(folder(), foreignFile));
    const facts = { size: last?.bytes ?? 0, partitionValues: { day: '2026-02-01' }, dataChange };
    const add = { path: foreignFile, ...facts, modificationTime: 0, stats: null, tags: null };
    const remove = { path, ...facts, deletionTimestamp: 0 };
    await writeFile(
      await commitFile(),
      lines([{ add }, { remove }, { commitInfo: { operation: 'OPTIMIZE' } }]),
    );
    return path;
  }

  thorough('is restored by the next export if its rows are the same', async () => {
    const path = await optimize();
    const counted = async () =>
      withLake(out(), async ({ engine }) =>
        (await openLakeReader(engine, out()))(`select count(*) from ${table}`),
      );
    const rows = [[String((await logIn(out(), table)).parts.reduce((sum, part) => sum + part.rows, 0))]];
    expect((await counted()).rows).toEqual(rows);
    expect((await verified(out())).printed).toEqual([
      expect.stringMatching(/files of another program in place of parts: the next export restores the parts/),
    ]);
    expect((await run({ only, out: out() })).code).toBe(0);
    expect(await verified(out())).toMatchObject({ code: 0, printed: [] });
    const log = await logIn(out(), table);
    expect(log.parts.map((part) => part.path)).toContain(path);
    expect(log.foreign).toEqual({ added: [], removed: [] });
    expect((await counted()).rows).toEqual(rows);
  });

  test.each([
    ['it changed rows', () => optimize(true)],
    ['a part is gone', async () => rm(join(folder(), await optimize()))],
    [
      'it deleted rows',
      async () => {
        const path = await optimize();
        const remove = { path, deletionTimestamp: 0, dataChange: true };
        await writeFile(await commitFile(), lines([{ remove }]));
      },
    ],
  ])('is refused, with what to do, if %s', async (_, spoil) => {
    await spoil();
    const errors: string[] = [];
    const error = vi.spyOn(console, 'error').mockImplementation((line: string) => void errors.push(line));
    const flags = { ...ALL, only, out: out(), format: 'parquet' };
    const code = await exportRows(invocationOf(store.url), flags).finally(() => error.mockRestore());
    expect(code).toBe(1);
    expect(errors.join('\n')).toMatch(
      /was written by another program[\s\S]*Move the folder jetton_transfers out of the lake and export again/,
    );
  });
});
