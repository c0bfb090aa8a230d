import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { createStats } from '../../src/api/stats.ts';
import { SETTING_NAMES } from '../../src/config.ts';
import { createMetrics } from '../../src/daemon/metrics.ts';
import { runSql } from '../../src/db/read/free-sql.ts';
import { parseSchedules } from '../../src/schedule.ts';
import { openTestStore, type TestStore } from '../support/database.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

let store: TestStore;
let served: ReadonlySet<string>;

beforeAll(async () => {
  store = await openTestStore();
  const text = await createMetrics(createStats().stats).render(undefined);
  served = new Set([...text.matchAll(/^# TYPE (\w+) /gm)].map(([, name = '']) => name));
});
afterAll(() => store.close());

/** Names of metrics within a text, as they are registered. */
function metricsIn(text: string): string[] {
  return [...text.matchAll(/\btoncenter_etl_\w+/g)].map(([name]) => name.replace(/_bucket$/, ''));
}

const Rules = z.object({
  groups: z.array(
    z.object({
      rules: z.array(
        z.object({
          alert: z.string(),
          expr: z.string(),
          annotations: z.object({ summary: z.string(), do: z.string() }),
        }),
      ),
    }),
  ),
});

const Dashboard = z.object({
  panels: z.array(
    z.object({
      title: z.string(),
      targets: z.array(z.object({ expr: z.string().optional(), rawSql: z.string().optional() })),
    }),
  ),
});

describe('the files for deployment', () => {
  test('alerts name metrics that are served, and say what to do', () => {
    const { groups } = Rules.parse(parse(read('deploy/prometheus/alerts.yml')));
    const rules = groups.flatMap((group) => group.rules);
    expect(rules.length).toBeGreaterThan(5);
    const unknown = rules.flatMap(({ expr }) => metricsIn(expr)).filter((name) => !served.has(name));
    expect(unknown).toEqual([]);
  });

  test('the dashboard shows metrics that are served, and its SQL runs', async () => {
    const { panels } = Dashboard.parse(JSON.parse(read('deploy/grafana/dashboards/toncenter-etl.json')));
    const targets = panels.flatMap((panel) => panel.targets);
    const expressions = targets.flatMap(({ expr }) => expr ?? []);
    expect(expressions.flatMap(metricsIn).filter((name) => !served.has(name))).toEqual([]);
    const statements = targets.flatMap(({ rawSql }) => rawSql ?? []);
    expect(statements.length).toBeGreaterThan(2);
    for (const statement of statements) await runSql(store.database, statement, { write: false });
  });

  test('docker-compose mounts files that exist and passes settings that exist', () => {
    const text = read('docker-compose.yml');
    const { services } = z
      .object({
        services: z.record(
          z.string(),
          z.object({
            volumes: z.array(z.string()).default([]),
            environment: z.record(z.string(), z.string()).default({}),
            profiles: z.array(z.string()).optional(),
          }),
        ),
      })
      .parse(parse(text));
    expect(Object.keys(services)).toEqual(['postgres', 'daemon', 'prometheus', 'grafana']);
    expect(services['prometheus']?.profiles).toEqual(['monitoring']);
    const mounted = Object.values(services)
      .flatMap(({ volumes }) => volumes)
      .filter((volume) => volume.startsWith('./'))
      .map((volume) => volume.split(':')[0] ?? '');
    for (const path of mounted) expect(() => statOf(path)).not.toThrow();
    const settings = Object.keys(services['daemon']?.environment ?? {});
    expect(settings.filter((name) => !SETTING_NAMES.includes(name))).toEqual([]);
  });

  test('the role for readers is made by statements that Postgres takes', async () => {
    const statements = /<<'SQL'\n([\s\S]*)\nSQL/.exec(read('deploy/reader.sh'))?.[1] ?? '';
    const text = statements.replaceAll('grafana', 'grafana_of_a_test').replace(":'password'", "'secret'");
    await store.database.script(`begin; ${text} rollback;`);
  });

  test('provisioning files are YAML', () => {
    for (const path of ['datasources/datasources.yml', 'dashboards/dashboards.yml'])
      expect(parse(read(`deploy/grafana/provisioning/${path}`))).toMatchObject({ apiVersion: 1 });
  });

  test('the crontab’s moments are cron expressions', () => {
    const moments = [...read('deploy/crontab').matchAll(/^([*\d/]+(?: [*\d/]+){4}) {2}cd /gm)].map(
      ([, cron = '']) => cron,
    );
    expect(moments).toHaveLength(2);
    for (const cron of moments) expect(parseSchedules(`blocks @ ${cron}`)).toHaveLength(1);
  });
});

function statOf(path: string): string {
  try {
    return read(path);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EISDIR') return '';
    throw error;
  }
}
