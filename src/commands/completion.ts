import tab, { type Command as Described, type Complete } from '@bomb.sh/tab';
import type { Command } from 'commander';

/** What completes the commands and options of `program`, and the names of datasets where one is expected. */
export function createCompletion(program: Command, datasets: readonly string[]): typeof tab {
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
