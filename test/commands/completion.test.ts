import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
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

/** What is being typed, and the suggestions for its last word. */
const TYPED: readonly (readonly [words: readonly string[], offered: string])[] = [
  [['back'], 'backfill'],
  [['quarantine', 's'], 'show'],
  [['backfill', '--max'], '--max-requests'],
  [['backfill', '--only', 'jetton_b'], 'jetton_burns'],
  [['completion', 'z'], 'zsh'],
];

const quoted = (words: readonly string[]) => words.map((word) => `'${word}'`).join(' ');

/** How a shell loads the completion, and how it prints the suggestions for the last of these words. */
const SHELLS: Readonly<Record<string, { load: string; ask: (words: readonly string[]) => string }>> = {
  bash: {
    load: 'source <(toncenter-etl completion bash)',
    ask: (words) => `COMP_WORDS=(toncenter-etl ${quoted(words)}); COMP_CWORD=${words.length}
      _toncenter_etl; printf '%s\\n' "\${COMPREPLY[@]}"`,
  },
  zsh: {
    load: `compdef() { :; }; _describe() { print -l -- "\${(@P)2}"; }
      source <(toncenter-etl completion zsh)`,
    ask: (words) => `words=(toncenter-etl ${quoted(words)}); CURRENT=${words.length + 1}
      _toncenter_etl | sed 's/:.*//'`,
  },
  fish: {
    load: 'toncenter-etl completion fish | source',
    ask: (words) => `complete -C 'toncenter-etl ${words.join(' ')}' | string replace -r '\\t.*' ''`,
  },
};

test.each(Object.entries(SHELLS).filter(([shell]) => has(shell)))(
  '%s completes what is typed, and runs none of it',
  (shell, { load, ask }) => {
    const script = [
      load,
      ...TYPED.map(([words]) => `${ask(words)}; echo ---`),
      ask(['$(touch typed)']),
      'true',
    ];
    const output = execFileSync(shell, ['-c', script.join('\n')], { env, cwd: home, encoding: 'utf8' });
    const offered = output.split('---\n').slice(0, -1);
    expect(offered.map((text) => text.trim())).toEqual(TYPED.map(([, one]) => one));
    expect(existsSync(join(home, 'typed'))).toBe(false);
  },
);
