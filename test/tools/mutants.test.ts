import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { transform } from 'esbuild';
import ts from 'typescript';
import { expect, test } from 'vitest';
import { MUTANTS, mutate } from '../../tools/chaos/mutants.ts';
import { PROOF_MUTANTS } from '../../tools/proof/mutants.ts';

test.each([...MUTANTS, ...PROOF_MUTANTS])(
  'the bug "$name" still has its place in the program',
  async (mutant) => {
    for (const module of new Set(mutant.edits.map((edit) => edit.module))) {
      const source = await readFile(join(import.meta.dirname, `../../src/${module}.ts`), 'utf8');
      const { outputText } = ts.transpileModule(source, {
        compilerOptions: {
          target: ts.ScriptTarget.ES2023,
          module: ts.ModuleKind.ESNext,
          verbatimModuleSyntax: true,
        },
      });
      const mutated = mutate(module, outputText, mutant);
      expect(mutated).not.toBe(outputText);
      // The mutated program is bundled, which requires more than that it parses.
      await expect(transform(mutated)).resolves.toMatchObject({ warnings: [] });
    }
  },
);
