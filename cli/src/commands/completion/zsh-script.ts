import { type Candidate, type CommandTree, flagged, lookups, parents } from './command-tree.ts';

/** For zsh 5, as a file in a folder of `fpath` or read by `source` behind `compinit`. */
export const script = (tree: CommandTree): string => `#compdef svault
# Completion of svault for zsh.
_svault() {
  local word at='' takes='' login='' kind=''
  local -i operands=0 only_operands=0
  local -a candidates

  # Which command it is, and what the last flag takes.
  for word in "\${(@Q)words[2,CURRENT-1]}"; do
    if [[ -n $takes ]]; then
      if [[ $takes == contexts ]]; then login=$word; fi
      takes=''
    elif (( only_operands )); then
      (( ++operands ))
    else
      case $word in
        (--) only_operands=1 ;;
        (--context=*|--ctx=*) login=\${word#*=} ;;
        (-*=*) ;;
        (-?*) _svault_takes "$at" "$word" ;;
        (*) _svault_step "$at" "$word" || (( ++operands )) ;;
      esac
    fi
  done

  if [[ -n $takes ]]; then
    kind=$takes
  elif (( ! only_operands )) && [[ $PREFIX == -*=* ]]; then
    _svault_takes "$at" "\${PREFIX%%=*}"
    kind=$takes
    compset -P '*='
  elif (( ! only_operands )) && [[ $PREFIX == -* ]]; then
    _svault_flags "$at"
    _describe -o -t options flag candidates
    return
  elif (( operands == 0 && ! only_operands )) && _svault_commands "$at"; then
    _describe -t commands command candidates
    return
  else
    _svault_operand "$at" "$operands"
  fi

  local expl
  case $kind in
    ('one of '*) candidates=(\${=kind#one of }); _wanted values expl value compadd -a candidates ;;
    (contexts)
      candidates=("\${(@f)$(command svault context list --format name 2>/dev/null </dev/null)}")
      _wanted contexts expl login compadd -a candidates
      ;;
    ('names '*)
      candidates=("\${(@f)$(command svault complete-names "\${kind#names }" \${login:+"--context=$login"} 2>/dev/null </dev/null)}")
      _wanted names expl name compadd -a candidates
      ;;
    (commands) _command_names -e ;;
    (files) _files ;;
    (folders) _files -/ ;;
    (*) return 1 ;;
  esac
}

${lookups(tree, '(')}
# The commands below one: sets candidates.
_svault_commands() {
  case $1 in
${parents(tree)
  .map(({ path, commands }) => `    ('${path}') candidates=(\n${described(commands)}\n    ) ;;`)
  .join('\n')}
    (*) return 1 ;;
  esac
}

# The flags of a command: sets candidates.
_svault_flags() {
  candidates=(
${described(tree.globalFlags)}
  )
  case $1 in
${flagged(tree)
  .map(({ path, flags }) => `    ('${path}') candidates+=(\n${described(flags)}\n    ) ;;`)
  .join('\n')}
  esac
}

if [[ \${funcstack[1]-} == _svault ]]; then
  _svault "$@"
else
  compdef _svault svault
fi
`;

const described = (candidates: readonly Candidate[]): string =>
  candidates.map(({ word, about }) => `      ${quoted(`${word}:${about}`)}`).join('\n');

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
