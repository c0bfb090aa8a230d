import type { Command } from 'commander';
import { datasetNames } from '../../dataset/load-jobs.ts';
import { completionScript, SHELLS, type Shell } from '../output/completion-script.ts';
import { examples } from './words.ts';

/**
 * `completion SHELL` prints what a shell loads. That asks `complete -- WORDS…` at each press of the tab key. Neither reads
 * settings: a wrong one says nothing about words.
 */
export function registerCompletion(program: Command): void {
  program
    .command('completion')
    .description('print the completion of commands and options for a shell')
    .addArgument(program.createArgument('<shell>').choices(SHELLS))
    .addHelpText(
      'after',
      examples(
        'source <(toncenter-etl completion bash)    # in ~/.bashrc',
        'source <(toncenter-etl completion zsh)     # in ~/.zshrc, after compinit',
        'toncenter-etl completion fish > ~/.config/fish/completions/toncenter-etl.fish',
      ),
    )
    .action((shell: Shell) => console.log(completionScript(shell)));
  program
    .command('complete', { hidden: true })
    .argument('[words...]')
    .action(async (words: readonly string[]) => {
      const { createCompletion } = await import('../completion.ts');
      createCompletion(program, await datasetNames()).parse([...words]);
    });
}
