import { defineConfig } from 'drizzle-kit';

/** `npx drizzle-kit generate` writes migrations/ from the tables in src/tables/; it needs no database. */
export default defineConfig({
  dialect: 'postgresql',
  schema: './src/tables/**/*.ts',
  out: './migrations',
  schemaFilter: ['ton', 'etl'],
});
