import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { compileMutant, type Mutant } from '../chaos/mutants.ts';

/** A bug that lets a wrong row be certified, and the proofs that must notice it. */
export interface ProofMutant extends Mutant {
  /** The arguments of `npm run proof`. */
  readonly caughtBy: readonly string[];
}

const cells = (...ids: string[]) => ['--matrix', '--quick', ...ids.flatMap((id) => ['--cell', id])];
const kind = (name: string) => ['--wire', '--seeds', '1', '--kind', name];

/** Bugs of verification, one for each of its rules, as changes to a compiled copy of the program. */
export const PROOF_MUTANTS: readonly ProofMutant[] = [
  {
    name: 'short page ends its window',
    what: 'a page that is shorter than requested is the end of its window, whatever its length',
    edits: [
      {
        module: 'crawl/request-bounds',
        find: 'const isDoubted = rows < asked && isDoubtful(known, rows);',
        instead: 'const isDoubted = false;',
      },
    ],
    caughtBy: kind('/api/v3/actions: at most 100 whatever was asked'),
  },
  {
    name: 'findings expire early',
    what: 'the findings of a deep reading last only until the next verification',
    edits: [
      {
        module: 'verify/verify',
        find: 'const seen = [...ran.flatMap((check) => check.findings), ...kept];',
        instead: 'const seen = ran.flatMap((check) => check.findings);',
      },
      {
        module: 'write/certificates',
        find: '- ${spansWithFindings(stream)},',
        instead: ',',
      },
    ],
    caughtBy: cells('transactions.compute_vm_steps other'),
  },
  {
    name: 'findings not stored',
    what: 'findings are stored in no table, so that no query is refused',
    edits: [
      {
        module: 'ledger/stored-findings',
        find: 'if (found.length > 0)',
        instead: 'if (false)',
      },
    ],
    caughtBy: cells('transactions.compute_vm_steps other'),
  },
  {
    name: 'wrong row not removed',
    what: 'repair reads the right seconds and keeps the wrong row that it finds there',
    edits: [
      {
        module: 'write/take-out',
        find: 'await removeWrong(session, opening, table);',
        instead: ';',
      },
    ],
    caughtBy: cells('messages.content_decoded filled'),
  },
  {
    name: 'unread rows count as compared',
    what: 'a deep reading treats rows as compared that it never requested',
    edits: [
      {
        module: 'verify/prove',
        find: `if (table === undefined || comparedRows.size === 0 || stream.scope !== '')\n        return [];`,
        instead: 'if (table !== undefined) return [...covered];',
      },
    ],
    caughtBy: cells('blocks.rand_seed other'),
  },
  {
    name: 'omitted value not compared',
    what: 'a value that the source does not send is no difference',
    edits: [
      {
        module: 'verify/compare-span',
        find: 'withOmissions(found.differences, omissions)',
        instead: 'withOmissions(found.differences, [])',
      },
    ],
    caughtBy: cells('messages.content_decoded filled'),
  },
  {
    name: 'parents not checked',
    what: 'a link to any stored block is a link to a parent',
    edits: [
      {
        module: 'verify/checks/check-blocks',
        find: "'stray_link', 'surplus'",
        instead: "'stray_link', 'open'",
      },
      {
        module: 'verify/checks/check-blocks',
        find: "select 'unfit_link' as kind, 'doubt' as outcome,",
        instead: "select 'unfit_link' as kind, 'open' as outcome,",
      },
    ],
    caughtBy: cells('block_parents.parent_seqno changed'),
  },
  {
    name: 'second reading not compared',
    what: 'a second reading confirms the stored rows, whatever it brings',
    edits: [
      {
        module: 'write/commit',
        find: "if (again === undefined || done?.outcome !== 'covered')",
        instead: 'if (staged.length >= 0)',
      },
      {
        module: 'crawl/streams/page',
        find: "overwrite: priority === 'repair' || isAgain,",
        instead: "overwrite: priority === 'repair',",
      },
    ],
    caughtBy: ['--matrix', '--cell', 'jetton_transfers.amount other'],
  },
  {
    name: 'hashes not validated',
    what: 'any text of the source in place of a hash is stored unchanged',
    edits: [
      {
        module: 'records/members',
        find: '{42}[AEIMQUYcgkosw048]=$/',
        instead: '*=?$/',
      },
    ],
    caughtBy: kind('/api/v3/transactions: hash of one character'),
  },
  {
    name: 'seals not compared',
    what: 'proved rows are not compared with the stored rows',
    edits: [
      {
        module: 'verify/checks/every-check',
        find: 'return [quarantine, sealCheck, ',
        instead: 'return [quarantine, ',
      },
    ],
    caughtBy: cells('validator_events row deleted'),
  },
  {
    name: 'half of the accounts skipped',
    what: 'a check of the states of accounts reads only half of the accounts',
    edits: [
      {
        module: 'verify/checks/check-transactions',
        find: "ton.transactions t where ${during('t', stretch)}`;",
        instead: "ton.transactions t where ${during('t', stretch)} and t.account < '0:8'`;",
      },
    ],
    caughtBy: cells('transactions.total_fees other'),
  },
];

/** Runs the proofs that must catch each bug, on the unchanged program and with the bug; true if all are caught. */
export async function catchMutants(program: string, only: string | undefined): Promise<boolean> {
  const chosen = PROOF_MUTANTS.filter(({ name }) => only === undefined || name === only);
  let escaped = 0;
  for (const mutant of chosen) {
    const directory = join(program, '..', 'proof-mutants', mutant.name.replaceAll(/\W+/g, '-'));
    await compileMutant(program, directory, mutant);
    const well = await prove(program, mutant.caughtBy);
    const ill = await prove(directory, mutant.caughtBy);
    const isCaught = well.code === 0 && ill.code === 1;
    if (!isCaught) escaped += 1;
    const verdict = isCaught ? 'caught' : well.code === 0 ? 'ESCAPED' : 'UNFIT';
    console.log(`${verdict.padEnd(9)} ${mutant.name}: ${isCaught ? ill.output : mutant.what}`);
    await rm(directory, { recursive: true, force: true });
  }
  console.log(`${chosen.length} mutants, ${chosen.length - escaped} caught`);
  return escaped === 0;
}

async function prove(
  program: string,
  args: readonly string[],
): Promise<{ readonly code: number | null; readonly output: string }> {
  const child = spawn(process.execPath, [join(program, 'tools/proof/main.js'), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const [code] = (await once(child, 'exit')) as [number | null];
  return {
    code,
    output: output
      .split('\n')
      .slice(0, 2)
      .map((line) => line.trim())
      .join(': '),
  };
}
