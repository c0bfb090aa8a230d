export type Shell = 'bash' | 'zsh' | 'fish';

export const SHELLS: readonly Shell[] = ['bash', 'zsh', 'fish'];

/*
 * Each hands the words before the cursor over as they are, and takes lines of a word, a tab and its description. Not the
 * scripts of the library that finds the words: in bash they need a package beside it, and evaluate what is being typed.
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

/** What a shell loads to complete the words of this program. */
export function completionScript(shell: Shell): string {
  return SCRIPTS[shell];
}
