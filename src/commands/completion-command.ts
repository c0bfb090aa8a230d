import tab, { type Command as Described, type Complete } from '@bomb.sh/tab';
import type { Command } from 'commander';
import { datasetNames } from '../dataset/load-jobs.ts';
import { examples } from './option-words.ts';

/**
 * `completion SHELL` prints a script for a shell, which calls `complete -- WORDS…` each time the tab key is pressed.
 */
export function defineCompletion(command: Command): void {
  command
    .addArgument(command.createArgument('<shell>').choices(SHELLS))
    .addHelpText(
      'after',
      examples(
        'source <(toncenter-etl completion bash)    # in ~/.bashrc',
        'source <(toncenter-etl completion zsh)     # in ~/.zshrc, after compinit',
        'toncenter-etl completion fish > ~/.config/fish/completions/toncenter-etl.fish',
      ),
    )
    .action((shell: Shell) => console.log(SCRIPTS[shell]));
}

/** Like `completion`, it reads no settings: a wrong one must not break completion. */
export function defineComplete(command: Command): void {
  command.argument('[words...]').action(async (words: readonly string[]) => {
    const { parent } = command;
    if (parent !== null) createCompletion(parent, await datasetNames()).parse([...words]);
  });
}

type Shell = 'bash' | 'zsh' | 'fish';

const SHELLS: readonly Shell[] = ['bash', 'zsh', 'fish'];

/*
 * Each script passes the words before the cursor unchanged, and reads lines of a word, a tab and its description. The
 * scripts of the completion library are not used: in bash they need another package, and evaluate what is being
 * typed.
 */
const SCRIPTS: Readonly<Record<Shell, string>> = {
  bash: String.raw`_toncenter_etl() {
  local IFS=$'\n'
  COMPREPLY=($(toncenter-etl complete -- "${'$'}{COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | sed '/^:/d; s/\t.*//'))
}
complete -o default -F _toncenter_etl toncenter-etl`,
  zsh: String.raw`#compdef toncenter-etl
_toncenter_etl() {
  local -a found
  found=("${'$'}{(@f)$(toncenter-etl complete -- "${'$'}{(@)words[2,CURRENT]}" 2>/dev/null)}")
  found=("${'$'}{(@)${'$'}{found:#:*}/$'\t'/:}")
  _describe toncenter-etl found
}
compdef _toncenter_etl toncenter-etl`,
  fish: String.raw`function __toncenter_etl_complete
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  toncenter-etl complete -- $words[2..] "$current" 2>/dev/null | string match -v ':*'
end
complete -c toncenter-etl -f -a '(__toncenter_etl_complete)'`,
};

/** The completer of commands and options of `program`, and of dataset names. */
function createCompletion(program: Command, datasets: readonly string[]): typeof tab {
  const names = (complete: Complete) => {
    for (const name of [...datasets, 'core', 'all']) complete(name, '');
  };
  for (const command of program.commands) describe(command, '');
  return tab;

  function describe(command: Command, parent: string): void {
    const path = `${parent}${command.name()}`;
    const described = tab.command(path, command.description());
    describeOptions(command, described);
    for (const argument of command.registeredArguments)
      described.argument(argument.name(), (complete) => {
        if (path === 'datasets') names(complete);
        for (const choice of argument.argChoices ?? []) complete(choice, '');
      });
    for (const child of command.commands) describe(child, `${path} `);
  }

  function describeOptions(command: Command, described: Described): void {
    for (const { long, description, required, optional } of command.createHelp().visibleOptions(command)) {
      const name = long?.replace(/^--/, '') ?? '';
      if (!required && !optional) described.option(name, description);
      else
        described.option(name, description, (complete) => {
          if (name === 'only') names(complete);
        });
    }
  }
}
