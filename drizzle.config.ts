import { defineConfig } from 'drizzle-kit';

/** `npx drizzle-kit generate` writes migrations/ from the tables in src/db/schema/; it needs no database. */
export default defineConfig({
  dialect: 'postgresql',
  schema: './src/db/schema/**/*.ts',
  out: './migrations',
  schemaFilter: ['ton', 'etl'],
});
