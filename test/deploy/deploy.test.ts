import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import { createStats } from '../../src/api/attempt.ts';
import { SETTING_NAMES } from '../../src/settings/config.ts';
import { createMetrics } from '../../src/daemon/server/metrics.ts';
import { openDatabase } from '../../src/postgres/database.ts';
import { allowReading } from '../../src/migrate/reader.ts';
import { runSql } from '../../src/read/free-sql.ts';
import { parseSchedules } from '../../src/settings/schedule.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';
import { nodeOptionsOf } from '../support/program/node-options.ts';
import { promtool } from '../support/program/promtool.ts';
import { withLogin } from '../../src/settings/postgres-url.ts';

const SYSTEMD_ANALYZE = '/usr/bin/systemd-analyze';
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

  test.skipIf(promtool === undefined)('alerts fire when they should, and not before', () => {
    const file = join(ROOT, 'test', 'deploy', 'alerts.promtool.yml');
    expect(execFileSync(promtool ?? '', ['test', 'rules', file]).toString()).toContain('SUCCESS');
  });

  test('the dashboard shows metrics that are served, and its SQL runs', async () => {
    const { panels } = Dashboard.parse(JSON.parse(read('deploy/grafana/dashboards/toncenter-etl.json')));
    const targets = panels.flatMap((panel) => panel.targets);
    const expressions = targets.flatMap(({ expr }) => expr ?? []);
    expect(expressions.flatMap(metricsIn).filter((name) => !served.has(name))).toEqual([]);
    const statements = targets.flatMap(({ rawSql }) => rawSql ?? []);
    expect(statements.length).toBeGreaterThan(2);
    for (const statement of statements)
      await runSql(store.database, statement.replaceAll(/\$\{\w+:sqlstring\}/g, "'blocks','traces'"), {
        write: false,
      });
  });

  test('the dashboard’s variables are those that its panels use', () => {
    const text = read('deploy/grafana/dashboards/toncenter-etl.json');
    const { templating } = z
      .object({ templating: z.object({ list: z.array(z.object({ name: z.string(), query: z.string() })) }) })
      .parse(JSON.parse(text));
    const used = [...text.matchAll(/\$\{?([a-z]+)/g)].map(([, name]) => name);
    expect(new Set(templating.list.map(({ name }) => name))).toEqual(new Set(used));
    expect(
      templating.list.flatMap(({ query }) => metricsIn(query)).filter((name) => !served.has(name)),
    ).toEqual([]);
  });

  test('docker-compose mounts files that exist passes every setting, and keeps logs short', () => {
    const text = read('docker-compose.yml');
    const { services } = z
      .object({
        services: z.record(
          z.string(),
          z.object({
            volumes: z.array(z.string()).default([]),
            environment: z.record(z.string(), z.string()).default({}),
            logging: z.object({ options: z.object({ 'max-size': z.string(), 'max-file': z.string() }) }),
            profiles: z.array(z.string()).optional(),
          }),
        ),
      })
      .parse(parse(text));
    expect(Object.keys(services)).toEqual(['postgres', 'daemon', 'reader', 'prometheus', 'grafana']);
    expect(services['prometheus']?.profiles).toEqual(['monitoring']);
    const mounted = Object.values(services)
      .flatMap(({ volumes }) => volumes)
      .filter((volume) => volume.startsWith('./'))
      .map((volume) => volume.split(':')[0] ?? '');
    for (const path of mounted) expect(() => statOf(path)).not.toThrow();
    const environment = services['daemon']?.environment ?? {};
    // The image has no embedded database, so its directory and its disk do not matter.
    const needless = new Set(['ETL_DATA_DIR', 'ETL_MIN_FREE']);
    const obeyedElsewhere = /^(?:PGPASSWORD|AWS_\w+|(?:HTTPS?|ALL|NO)_PROXY)$/;
    const others = Object.keys(environment).filter((name) => obeyedElsewhere.test(name));
    expect(new Set(Object.keys(environment))).toEqual(
      new Set([...SETTING_NAMES.filter((name) => !needless.has(name)), ...others]),
    );
    expect(others).toEqual(expect.arrayContaining(['AWS_ACCESS_KEY_ID', 'AWS_ENDPOINT_URL_S3', 'NO_PROXY']));
    // The volume of a lake is mounted on a directory that the image's user owns.
    expect(services['daemon']?.volumes).toEqual(['lake:/app/lake']);
    // In a URL, some characters of a password would have to be encoded.
    expect(environment['DATABASE_URL']).not.toContain('${');
    for (const [name, value] of Object.entries(environment))
      if (name !== 'PGPASSWORD' && value.includes('${')) expect(value).toContain(`\${${name}:-`);
  });

  test('the image runs as a numeric user, who may write the lake', () => {
    const text = read('Dockerfile');
    const [, user] = /^USER (\S+)$/m.exec(text) ?? [];
    expect(user).toMatch(/^[1-9]\d*:[1-9]\d*$/);
    expect(text).toContain(`--chown=${user} /app/lake ./lake`);
    // The docs give Kubernetes the same user, the port and the probes' paths.
    const pod = /```yaml\n([^]*?)```/.exec(read('docs/operator/install.md'))?.[1] ?? '';
    const { spec } = z
      .object({ spec: z.object({ template: z.object({ spec: z.record(z.string(), z.unknown()) }) }) })
      .parse(parse(pod));
    expect(spec.template.spec['securityContext']).toMatchObject({
      runAsNonRoot: true,
      runAsUser: Number(user?.split(':')[0]),
    });
    const port = Number(/^EXPOSE (\d+)$/m.exec(text)?.[1]);
    expect(pod.match(/port: (\d+)/g)).toEqual(Array.from({ length: 3 }, () => `port: ${port}`));
  });

  test('the systemd services are well-formed', () => {
    const units = ['toncenter-etl.service', 'toncenter-etl-backfill.service', 'toncenter-etl-backfill.timer'];
    const text = read(`deploy/systemd/${units[0] ?? ''}`);
    // It survives an outage of minutes, and the embedded database is in a directory that the unit may write.
    expect(text).toMatch(/^RestartSec=\d+$/m);
    expect(text).toMatch(/^StartLimitIntervalSec=0$/m);
    expect(text).toMatch(/^After=.*postgresql\.service/m);
    expect(text).toMatch(/^Environment=ETL_DATA_DIR=\/var\/lib\/toncenter-etl\b/m);
    expect(text).toMatch(/^StateDirectory=toncenter-etl$/m);
    if (!existsSync(SYSTEMD_ANALYZE)) return;
    const paths = units.map((unit) => join(ROOT, 'deploy', 'systemd', unit));
    const { stderr } = spawnSync(SYSTEMD_ANALYZE, ['verify', ...paths]);
    // The verifier wants the program at the path that the unit names.
    const others = stderr
      .toString()
      .split('\n')
      .filter((line) => line !== '' && !line.includes('/usr/bin/node'));
    expect(others).toEqual([]);
  });

  test('the systemd services run Node as the image does', () => {
    const units = ['toncenter-etl.service', 'toncenter-etl-backfill.service'];
    const options = units.map((unit) => nodeOptionsOf(read(`deploy/systemd/${unit}`)));
    const ofImage = nodeOptionsOf(read('Dockerfile'));
    expect(options).toEqual([ofImage, ofImage]);
  });

  test('no password has a default: without one, Grafana does not start', () => {
    const text = read('docker-compose.yml');
    expect(text).not.toMatch(/(?:PASSWORD|SECRET\w*|KEY):-[^}]/);
    const { entrypoint } = z
      .object({ services: z.object({ grafana: z.object({ entrypoint: z.array(z.string()) }) }) })
      .parse(parse(text)).services.grafana;
    const [shell = '', ...args] = entrypoint.map((word) =>
      word.replaceAll('$$', '$').replace('/run.sh', 'echo started'),
    );
    const run = (GF_SECURITY_ADMIN_PASSWORD: string) =>
      spawnSync(shell, args, { env: { PATH: process.env['PATH'], GF_SECURITY_ADMIN_PASSWORD } });
    expect(run('')).toMatchObject({ status: 1 });
    expect(run('').stderr.toString()).toContain('GRAFANA_PASSWORD');
    expect(run(`o'"$ x`).stderr.toString() + run(`o'"$ x`).stdout.toString()).toContain('started');
  });

  test('the role of Grafana gets its privileges as every reader does, and keeps its password', async () => {
    const statements = /<<'SQL'\n([\s\S]*)\nSQL/.exec(read('deploy/reader.sh'))?.[1] ?? '';
    const name = `grafana_${process.pid}`;
    const made = statements.replaceAll('grafana', name).replace(":'password'", "'secret'");
    const { command } = z
      .object({ services: z.object({ reader: z.object({ command: z.array(z.string()) }) }) })
      .parse(parse(read('docker-compose.yml'))).services.reader;
    expect(command).toEqual(['reader', '--name', 'grafana', '--keep-password', '--strict']);
    await store.database.script(made);
    expect(
      await allowReading(store.database, { name, timeout: 60, password: null, strict: true }),
    ).toMatchObject({
      exists: true,
      left: [],
    });
    const url = withLogin(store.url, name, 'secret');
    const grafana = await openDatabase({ url, applicationName: 'grafana', maxConnections: 1 });
    try {
      await runSql(grafana, 'select * from etl.coverage_report', { write: false });
      await expect(runSql(grafana, 'select * from etl.quarantine', { write: false })).rejects.toThrow(
        /denied/,
      );
    } finally {
      await grafana.close();
      await store.database.script(`drop owned by ${name}; drop role ${name}`);
    }
  });

  test('provisioning files are YAML', () => {
    for (const path of ['datasources/datasources.yml', 'dashboards/dashboards.yml'])
      expect(parse(read(`deploy/grafana/provisioning/${path}`))).toMatchObject({ apiVersion: 1 });
  });

  test('the crontab’s times are cron expressions', () => {
    expect(read('deploy/crontab')).toMatch(/^MAILTO=/m);
    // The page prints the lines of the file.
    for (const line of read('deploy/crontab').match(/^(MAILTO|\d).*$/gm) ?? [])
      expect(read('docs/operator/install.md')).toContain(line);
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
