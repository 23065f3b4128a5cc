import { type Candidate, type CommandTree, flagged, lookups, parents } from './command-tree.ts';

/**
 * For bash, 3.2 of macOS too, and without bash-completion. No word of the line is ever evaluated, and no list goes through
 * `compgen -W`, which would; svault runs only for names.
 */
export const script = (tree: CommandTree): string => `# Completion of svault for bash.
_svault() {
  local IFS=$' \\t\\n' rest=\${COMP_LINE:0:COMP_POINT} bare word cur head='' at='' takes='' login='' kind candidates=''
  local -i index=0 operands=0 only_operands=0
  local -a typed
  typed=()
  COMPREPLY=()

  # Bash breaks words at = and @ as well; what no space parts is one word again.
  for word in "\${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
    bare=\${rest#"\${rest%%[![:space:]]*}"}
    if ((index == COMP_CWORD)); then word=$bare; fi
    if ((index > 0)) && [[ $bare == "$rest" ]]; then
      typed[\${#typed[@]}-1]+=$word
    else
      typed[\${#typed[@]}]=$word
    fi
    rest=\${bare#"$word"}
    index+=1
  done
  index=$((\${#typed[@]} - 1))
  cur=\${typed[index]}

  # Which command it is, and what the last flag takes.
  for word in "\${typed[@]:1:index-1}"; do
    if [[ -n $takes ]]; then
      if [[ $takes == contexts ]]; then login=$word; fi
      takes=''
    elif ((only_operands)); then
      operands+=1
    else
      case $word in
        --) only_operands=1 ;;
        --context=* | --ctx=*) login=\${word#*=} ;;
        -*=*) ;;
        -?*) _svault_takes "$at" "$word" ;;
        *) _svault_step "$at" "$word" || operands+=1 ;;
      esac
    fi
  done

  if [[ -n $takes ]]; then
    kind=$takes
  elif ((!only_operands)) && [[ $cur == -*=* ]]; then
    _svault_takes "$at" "\${cur%%=*}"
    kind=$takes head=\${cur%%=*}=
  elif ((!only_operands)) && [[ $cur == -* ]]; then
    kind=flags
  elif ((operands == 0 && !only_operands)) && _svault_commands "$at"; then
    kind=commands_below
  else
    _svault_operand "$at" "$operands"
  fi

  case $kind in
    flags) _svault_flags "$at" && _svault_offer $candidates ;;
    commands_below) _svault_offer $candidates ;;
    'one of '*) _svault_offer \${kind#one of } ;;
    contexts)
      while IFS= read -r word; do
        # Bash puts it on the line as it is.
        if [[ $word != *[!A-Za-z0-9._@-]* ]]; then _svault_offer "$word"; fi
      done < <(
        command svault context list --format name 2>/dev/null </dev/null
      )
      ;;
    'names '*)
      while IFS= read -r word; do
        if [[ $word != *[!A-Za-z0-9._@:+-]* ]]; then _svault_offer "$word"; fi
      done < <(
        command svault complete-names "\${kind#names }" \${login:+"--context=$login"} 2>/dev/null </dev/null
      )
      ;;
    commands) _svault_generate -c ;;
    files) _svault_generate -f ;;
    folders) _svault_generate -d ;;
  esac

  # Readline puts it behind the last place where it broke the word; an @ begins the next part.
  bare=$cur
  while [[ -n $bare && $COMP_WORDBREAKS != *"\${bare:\${#bare}-1}"* ]]; do bare=\${bare%?}; done
  bare=\${bare%@}
  for index in "\${!COMPREPLY[@]}"; do COMPREPLY[index]=\${COMPREPLY[index]#"$bare"}; done
}

_svault_offer() {
  local word
  for word; do
    if [[ $head$word == "$cur"* ]]; then COMPREPLY[\${#COMPREPLY[@]}]=$head$word; fi
  done
}

_svault_generate() {
  local word
  if [[ $1 != -c ]] && type compopt &>/dev/null; then compopt -o filenames 2>/dev/null; fi
  while IFS= read -r word; do COMPREPLY[\${#COMPREPLY[@]}]=$head$word; done < <(
    compgen "$1" -- "\${cur#"$head"}"
  )
}

${lookups(tree)}
# The commands below one: sets candidates.
_svault_commands() {
  case $1 in
${parents(tree)
  .map(({ path, commands }) => `    '${path}') candidates='${words(commands)}' ;;`)
  .join('\n')}
    *) return 1 ;;
  esac
}

# The flags of a command: sets candidates.
_svault_flags() {
  candidates='${words(tree.globalFlags)}'
  case $1 in
${flagged(tree)
  .map(({ path, flags }) => `    '${path}') candidates+=' ${words(flags)}' ;;`)
  .join('\n')}
  esac
}

complete -F _svault svault
`;

const words = (candidates: readonly Candidate[]): string => candidates.map(({ word }) => word).join(' ');
