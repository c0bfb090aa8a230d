/** Who may import whom. The tree is the architecture; this is its guard. `docs/architecture.md` draws it. */

/** The rooms of src/, and which other rooms each may enter. Every room may use the files at the root of src/. */
const ROOMS = {
  budget: [],
  embedded: [],
  settings: [],
  terminal: [],
  ton: [],
  dataset: ['settings'],
  simulator: ['terminal'],
  api: ['budget', 'dataset', 'settings', 'terminal'],
  tables: ['dataset'],
  postgres: ['settings', 'tables'],
  records: ['dataset', 'tables', 'ton'],
  ledger: ['budget', 'dataset', 'postgres', 'tables', 'ton'],
  write: ['dataset', 'ledger', 'postgres', 'tables'],
  migrate: ['dataset', 'ledger', 'postgres', 'settings', 'tables', 'write'],
  read: ['dataset', 'ledger', 'postgres', 'tables', 'ton', 'write'],
  crawl: ['api', 'budget', 'dataset', 'ledger', 'postgres', 'read', 'records', 'settings', 'ton', 'write'],
  export: ['dataset', 'postgres', 'read', 'tables'],
  app: ['api', 'budget', 'crawl', 'dataset', 'embedded', 'ledger', 'migrate', 'postgres', 'settings', 'simulator', 'terminal', 'write'],
  doctor: ['api', 'crawl', 'dataset', 'ledger', 'migrate', 'postgres', 'read', 'settings', 'terminal'],
  lake: ['dataset', 'export', 'ledger', 'postgres', 'read', 'settings', 'tables', 'write'],
  status: ['crawl', 'dataset', 'ledger', 'postgres', 'read', 'settings'],
  verify: ['api', 'budget', 'crawl', 'dataset', 'ledger', 'postgres', 'read', 'records', 'tables', 'ton', 'write'],
  backfill: ['crawl', 'dataset', 'ledger', 'read', 'verify'],
  daemon: ['api', 'budget', 'crawl', 'dataset', 'export', 'lake', 'ledger', 'postgres', 'settings', 'status', 'verify', 'write'],
  commands: ['api', 'app', 'backfill', 'budget', 'crawl', 'daemon', 'dataset', 'doctor', 'embedded', 'export', 'lake', 'ledger', 'migrate', 'postgres', 'read', 'records', 'settings', 'simulator', 'status', 'tables', 'terminal', 'ton', 'verify', 'write'],
  library: ['app', 'backfill', 'crawl', 'dataset', 'ledger', 'settings', 'tables', 'ton'],
};

/** Begins the program: the only file at the root that imports rooms. */
const ENTRY = '^src/cli\\.ts$';

const roomRules = Object.entries(ROOMS).map(([room, others]) => ({
  name: `${room}-enters-only-${others.length === 0 ? 'the-root' : others.join('-')}`,
  severity: 'error',
  from: { path: `^src/${room}/` },
  to: { path: '^src/[^/]+/', pathNot: [room, ...others].map((name) => `^src/${name}/`) },
}));

module.exports = {
  forbidden: [
    { name: 'no-circles', severity: 'error', from: {}, to: { circular: true } },
    ...roomRules,
    {
      name: 'root-files-know-no-room',
      severity: 'error',
      from: { path: '^src/[^/]+\\.ts$', pathNot: ENTRY },
      // The logger writes to the terminal, and a stdout that is gone stops a command.
      to: { path: '^(src/[^/]+/|jobs/)', pathNot: '^src/terminal/' },
    },
    {
      name: 'nothing-imports-the-entry',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: ENTRY },
    },
    {
      name: 'jobs-are-facts',
      severity: 'error',
      from: { path: '^jobs/' },
      to: { path: '^src/', pathNot: '^src/(range\\.ts|(dataset|records|ton|tables)/)' },
    },
    { name: 'nothing-imports-jobs', severity: 'error', from: { path: '^src/' }, to: { path: '^jobs/' } },
    {
      name: 'sql-has-its-rooms',
      severity: 'error',
      from: { path: '^(src|jobs)/', pathNot: '^src/(tables|postgres|ledger|write|read|migrate|verify|embedded)/' },
      to: { path: 'node_modules/(pg|drizzle-orm)/' },
    },
    {
      name: 'programs-import-no-tests',
      severity: 'error',
      from: { path: '^(src|jobs|tools)/' },
      to: { path: '^test/(?!support/)' },
    },
    {
      name: 'the-product-knows-no-tools',
      severity: 'error',
      from: { path: '^(src|jobs)/' },
      to: { path: '^(tools|test)/' },
    },
    {
      name: 'tests-of-a-room-do-not-import-each-other',
      severity: 'error',
      from: { path: '^test/' },
      to: { path: '\\.test\\.ts$' },
    },
    {
      name: 'no-dev-dependency-at-run-time',
      severity: 'error',
      from: { path: '^(src|jobs)/' },
      to: { dependencyTypes: ['npm-dev'] },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default'],
      extensions: ['.ts', '.js'],
    },
  },
};
