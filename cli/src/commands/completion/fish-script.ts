import {
  type Candidate,
  type Case,
  type CommandTree,
  flagged,
  operands,
  parents,
  steps,
  valuedFlags,
} from './command-tree.ts';

/** For fish 3 and 4. */
export const script = (tree: CommandTree): string => `# Completion of svault for fish.
function __svault_candidates
    set -l cur (commandline -ct)
    set -l at ''
    set -l takes ''
    set -l login
    set -l kind ''
    set -l head ''
    set -l operands 0
    set -l only_operands 0
    set -l typed (commandline -opc)

    # Which command it is, and what the last flag takes.
    for word in $typed[2..-1]
        if test -n "$takes"
            if test "$takes" = contexts
                set login --context=$word
            end
            set takes ''
        else if test $only_operands = 1
            set operands (math $operands + 1)
        else
            switch $word
                case --
                    set only_operands 1
                case '--context=*' '--ctx=*'
                    set login (string replace -r -- '^[^=]*=' '--context=' $word)
                case '-*=*'
                case '-*'
                    set takes (__svault_takes "$at/$word")
                case '*'
                    if set -l to (__svault_step "$at/$word")
                        set at $to
                    else
                        set operands (math $operands + 1)
                    end
            end
        end
    end

    if test -n "$takes"
        set kind $takes
    else if test $only_operands = 0; and string match -q -- '-*=*' "$cur"
        set head (string replace -r '=.*$' '=' -- "$cur")
        set kind (__svault_takes "$at/"(string replace -r '=.*$' '' -- "$cur"))
    else if test $only_operands = 0; and string match -q -- '-*' "$cur"
        __svault_flags "$at"
        return
    else if test $only_operands = 0 -a $operands = 0; and __svault_commands "$at"
        return
    else
        set kind (__svault_operand "$at/$operands")
    end

    set -l value (string sub -s (math 1 + (string length -- "$head")) -- "$cur")
    switch "$kind"
        case 'one of *'
            printf '%s\\n' $head(string split ' ' (string replace 'one of ' '' -- "$kind"))
        case contexts
            printf '%s\\n' $head(command svault context list --format name 2>/dev/null </dev/null)
        case 'names *'
            set -l names (command svault complete-names (string replace 'names ' '' -- "$kind") $login 2>/dev/null </dev/null)
            printf '%s\\n' $head$names
        case commands
            __fish_complete_command
        case files
            printf '%s\\n' $head(__fish_complete_path "$value")
        case folders
            printf '%s\\n' $head(__fish_complete_directories "$value")
    end
end

# The command that a word leads to.
function __svault_step
    switch $argv[1]
${cases(steps(tree))}
        case '*'
            return 1
    end
end

# What a flag takes.
function __svault_takes
    switch $argv[1]
${cases(valuedFlags(tree))}
    end
end

# What an operand is.
function __svault_operand
    switch $argv[1]
${cases(operands(tree))}
    end
end

# The commands below one.
function __svault_commands
    switch $argv[1]
${parents(tree)
  .map(({ path, commands }) => `        case '${path}'\n${described(commands)}`)
  .join('\n')}
        case '*'
            return 1
    end
end

# The flags of a command.
function __svault_flags
${described(tree.globalFlags)}
    switch $argv[1]
${flagged(tree)
  .map(({ path, flags }) => `        case '${path}'\n${described(flags)}`)
  .join('\n')}
    end
end

complete -c svault -e
complete -c svault -f -a '(__svault_candidates)'
`;

/** A star matches anything. */
const cases = (all: readonly Case[]): string =>
  all.map(({ key, value }) => `        case '${key}'\n            echo '${value}'`).join('\n');

const described = (candidates: readonly Candidate[]): string =>
  `            printf '%s\\t%s\\n' ${candidates
    .map(({ word, about }) => `${quoted(word)} ${quoted(about)}`)
    .join(' \\\n                ')}`;

const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
