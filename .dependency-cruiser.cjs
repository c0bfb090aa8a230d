/** Who may import whom. The tree is the architecture; this is its guard. */
const folder = (name) => `^src/${name}/`;
const ROOT = '^src/[^/]+\\.ts$';

module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } } },
    {
      name: 'root-nouns-know-no-folder',
      severity: 'error',
      from: { path: ROOT, pathNot: '^src/(cli|app|source)\\.ts$' },
      to: { path: '^(src/[^/]+/|jobs/)' },
    },
    { name: 'api-and-db-do-not-meet', severity: 'error', from: { path: folder('api') }, to: { path: folder('(db|crawl|verify|daemon|commands|simulator)') } },
    { name: 'db-and-api-do-not-meet', severity: 'error', from: { path: folder('db') }, to: { path: folder('(api|crawl|verify|daemon|commands|simulator|paginators|rows)') } },
    { name: 'crawl-and-verify-know-api-and-db', severity: 'error', from: { path: folder('crawl') }, to: { path: folder('(daemon|commands|simulator|verify|rows)') } },
    { name: 'verify-knows-crawl-api-and-db', severity: 'error', from: { path: folder('verify') }, to: { path: folder('(daemon|commands|simulator|rows)') } },
    { name: 'doctor-knows-db', severity: 'error', from: { path: folder('doctor') }, to: { path: folder('(?!doctor|db)') } },
    { name: 'daemon-knows-no-command', severity: 'error', from: { path: folder('daemon') }, to: { path: folder('(commands|simulator|rows)') } },
    { name: 'paginators-are-pure', severity: 'error', from: { path: folder('paginators') }, to: { path: folder('(?!paginators)') } },
    { name: 'rows-are-pure', severity: 'error', from: { path: folder('rows') }, to: { path: folder('(?!rows|api/schemas|db/schema)') } },
    { name: 'jobs-are-facts', severity: 'error', from: { path: '^jobs/' }, to: { path: '^src/(?!job\\.ts|collection\\.ts|range\\.ts|paginators/|rows/|db/schema/|api/schemas/)' } },
    { name: 'nothing-imports-jobs', severity: 'error', from: { path: '^src/' }, to: { path: '^jobs/' } },
    { name: 'simulator-shares-nothing', severity: 'error', from: { path: folder('simulator') }, to: { path: '^(src/(?!simulator/)[^/]+/|jobs/)' } },
    { name: 'postgres-is-behind-db', severity: 'error', from: { path: '^(src|jobs)/', pathNot: folder('(db|verify)') }, to: { path: 'node_modules/(pg|drizzle-orm)/' } },
    { name: 'no-dev-dependency-at-run-time', severity: 'error', from: { path: '^(src|jobs)/' }, to: { dependencyTypes: ['npm-dev'] } },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default'], extensions: ['.ts', '.js'] },
  },
};
