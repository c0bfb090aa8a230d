import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { compile } from '../support/program/compile.ts';

let home: string;
let env: Record<string, string>;
beforeAll(async () => {
  const program = join(await compile(), 'src', 'cli.js');
  home = await mkdtemp(join(tmpdir(), 'toncenter-etl-completion-'));
  const bin = join(home, 'toncenter-etl');
  await writeFile(bin, `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`);
  await chmod(bin, 0o755);
  env = { HOME: home, PATH: `${home}:${process.env['PATH'] ?? ''}`, TERM: 'dumb' };
});
afterAll(() => rm(home, { recursive: true, force: true }));

const has = (shell: string): boolean => {
  try {
    execFileSync(shell, ['-c', 'exit 0']);
    return true;
  } catch {
    return false;
  }
};

/** Scripts that load the completion and print what is offered for the words, the last of which is being typed. */
const ASK: Readonly<Record<string, (words: readonly string[]) => string>> = {
  bash: (words) => `source <(toncenter-etl completion bash)
    COMP_WORDS=(toncenter-etl ${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length}
    _toncenter_etl; printf '%s\\n' "\${COMPREPLY[@]}"`,
  zsh: (words) => `compdef() { :; }; _describe() { print -l -- "\${(@P)2}"; }
    source <(toncenter-etl completion zsh)
    words=(toncenter-etl ${words.map((word) => `'${word}'`).join(' ')}); CURRENT=${words.length + 1}
    _toncenter_etl | sed 's/:.*//'`,
  fish: (words) => `toncenter-etl completion fish | source
    complete -C 'toncenter-etl ${words.join(' ')}' | string replace -r '\\t.*' ''; true`,
};

describe.each(Object.entries(ASK))('%s completes', (shell, ask) => {
  test.skipIf(!has(shell)).each([
    [['back'], ['backfill']],
    [['quarantine', 's'], ['show']],
    [['backfill', '--max'], ['--max-requests']],
    [['backfill', '--only', 'jetton_b'], ['jetton_burns']],
    [['completion', 'z'], ['zsh']],
  ])('%j', (words, offered) => {
    const output = execFileSync(shell, ['-c', ask(words)], { env, encoding: 'utf8' });
    expect(output.trim().split('\n')).toEqual(offered);
  });

  test.skipIf(!has(shell))('without running what is being typed', () => {
    execFileSync(shell, ['-c', ask(['$(touch typed)'])], { env, cwd: home });
    expect(existsSync(join(home, 'typed'))).toBe(false);
  });
});
