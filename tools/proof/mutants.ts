import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { mutate, type Mutant } from '../chaos/mutants.ts';

/** A bug that lets something wrong be certified, and the proofs that must notice it. */
export interface ProofMutant extends Mutant {
  /** What `npm run proof` is told. */
  readonly caughtBy: readonly string[];
}

const kind = (name: string) => ['--wire', '--seeds', '1', '--kind', name];

/** Bugs of verification, one for each of its rules, as changes to a compiled copy of the program. */
export const PROOF_MUTANTS: readonly ProofMutant[] = [
  {
    name: 'short page believed',
    what: 'a page that is shorter than what was asked is the end of its window, whatever length it has',
    edits: [
      {
        module: 'crawl/streams/limit-trust',
        find: 'const isDoubted = rows < asked && isDoubtful({ ...known, cap }, rows);',
        instead: 'const isDoubted = false;',
      },
    ],
    caughtBy: kind('/api/v3/actions: at most 100 whatever was asked'),
  },
];

/** Runs the proofs that must catch each bug, on the program as it is and with the bug; true where all are caught. */
export async function catchMutants(program: string, only: string | undefined): Promise<boolean> {
  const chosen = PROOF_MUTANTS.filter(({ name }) => only === undefined || name === only);
  let escaped = 0;
  for (const mutant of chosen) {
    const directory = join(program, '..', 'proof-mutants', mutant.name.replaceAll(/\W+/g, '-'));
    await compile(program, directory, mutant);
    const well = await prove(program, mutant.caughtBy);
    const ill = await prove(directory, mutant.caughtBy);
    const isCaught = well.code === 0 && ill.code === 1;
    if (!isCaught) escaped += 1;
    const verdict = isCaught ? 'caught' : well.code === 0 ? 'ESCAPED' : 'UNFIT';
    console.log(`${verdict.padEnd(9)} ${mutant.name}: ${isCaught ? ill.said : mutant.what}`);
    await rm(directory, { recursive: true, force: true });
  }
  console.log(`${chosen.length} mutants, ${chosen.length - escaped} caught`);
  return escaped === 0;
}

/** The whole program and its proofs, with the bug in it. */
async function compile(program: string, directory: string, mutant: ProofMutant): Promise<void> {
  await rm(directory, { recursive: true, force: true });
  await cp(program, directory, { recursive: true });
  for (const module of new Set(mutant.edits.map((edit) => edit.module))) {
    const path = join(directory, 'src', `${module}.js`);
    await writeFile(path, mutate(module, await readFile(path, 'utf8'), mutant));
  }
}

async function prove(
  program: string,
  args: readonly string[],
): Promise<{ readonly code: number | null; readonly said: string }> {
  const child = spawn(process.execPath, [join(program, 'tools/proof/main.js'), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const [code] = (await once(child, 'exit')) as [number | null];
  return {
    code,
    said: said
      .split('\n')
      .slice(0, 2)
      .map((line) => line.trim())
      .join(': '),
  };
}
