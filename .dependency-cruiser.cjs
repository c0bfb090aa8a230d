/** Who may import whom. The tree is the architecture; this is its guard. `docs/architecture.md` draws it. */

/** The rooms of src/, and which other rooms each may enter. Every room may use the files at the root of src/. */
const ROOMS = {
  settings: [],
  terminal: [],
  ton: [],
  budget: [],
  dataset: ['settings'],
  records: ['dataset', 'db/schema', 'ton'],
  api: ['budget', 'dataset', 'settings', 'terminal'],
  db: ['budget', 'dataset', 'settings', 'ton'],
  embedded: [],
  crawl: ['api', 'budget', 'dataset', 'db', 'records', 'settings', 'ton'],
  verify: ['api', 'budget', 'crawl', 'dataset', 'db', 'records', 'ton'],
  status: ['crawl', 'dataset', 'db', 'settings'],
  export: ['dataset', 'db'],
  lake: ['dataset', 'db', 'export', 'settings'],
  doctor: ['api', 'crawl', 'dataset', 'db', 'settings', 'terminal'],
  quarantine: ['crawl', 'dataset', 'db'],
  backfill: ['crawl', 'dataset', 'db', 'verify'],
  why: ['api', 'dataset', 'db', 'records'],
  daemon: ['api', 'budget', 'crawl', 'dataset', 'db', 'export', 'lake', 'settings', 'status', 'verify'],
  app: ['api', 'budget', 'crawl', 'dataset', 'db', 'embedded', 'settings', 'simulator'],
  library: ['app', 'backfill', 'crawl', 'dataset', 'db', 'settings', 'ton'],
  commands: [
    'app',
    'backfill',
    'budget',
    'crawl',
    'daemon',
    'dataset',
    'db',
    'doctor',
    'embedded',
    'export',
    'lake',
    'quarantine',
    'settings',
    'simulator',
    'status',
    'terminal',
    'ton',
    'verify',
    'why',
  ],
  simulator: ['terminal'],
};

/** Begins the program: the only file at the root that imports rooms. */
const ENTRY = '^src/cli\\.ts$';

const roomRules = Object.entries(ROOMS).map(([room, others]) => ({
  name: `${room}-enters-only-${others.length === 0 ? 'the-root' : others.join('-').replaceAll('/', '-')}`,
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
      to: { path: '^src/', pathNot: '^src/(range\\.ts|(dataset|records|ton|db/schema)/)' },
    },
    { name: 'nothing-imports-jobs', severity: 'error', from: { path: '^src/' }, to: { path: '^jobs/' } },
    {
      name: 'postgres-is-behind-db',
      severity: 'error',
      from: { path: '^(src|jobs)/', pathNot: '^src/(db|verify|embedded)/' },
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
