import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../src/package.ts';

const text = readFileSync(join(packageRoot, 'docs', 'analyst', 'questions.md'), 'utf8');

/** The questions of docs/analyst/questions.md, each with its statement. */
export const questions = [...text.matchAll(/^### (.*)\n\n```sql\n([\s\S]*?);\n```/gm)].map(
  ([, title = '', statement = '']) => ({ title, statement }),
);
