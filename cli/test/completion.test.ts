/** Completion in the shells themselves: what they would put on the line, seen by a svault that shows its arguments. */
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tempDir } from '@svault/test-kit/temp-dir';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SHELLS, type Shell } from '../src/commands/completion/commands.ts';
import { commandLine } from './command-line.ts';

/** Shows its arguments, and keeps three logins; the last is none that svault would keep. */
const SVAULT = `#!/bin/sh
if [ "$*" = 'context list --format name' ]; then
  printf '%s\\n' work me@home '$(touch evaluated)'
elif [ "$1" = complete-names ]; then
  case "$*" in
    'complete-names services') printf '%s\\n' github gitlab '$(touch evaluated)' 'g h' ;;
    'complete-names agents') printf '%s\\n' builder ci ;;
    'complete-names agents --context=work') printf '%s\\n' ci-of-work ;;
    'complete-names policies') printf '%s\\n' net ;;
  esac
else
  printf '<%s>' "$@"
  echo
fi
`;
const ZSHRC = `
autoload -Uz compinit; compinit -D -u
source ./zsh
zle -C all-matches complete-word _generic
zstyle ':completion:all-matches:*' insert yes
zstyle ':completion:all-matches::::' completer _all_matches _complete
bindkey '^X*' all-matches
`;

let dir: ReturnType<typeof tempDir>;
beforeAll(async () => {
  dir = tempDir();
  mkdirSync(join(dir.path, 'bin'));
  for (const program of ['svault', 'program-of-mine']) {
    writeFileSync(join(dir.path, 'bin', program), SVAULT);
    chmodSync(join(dir.path, 'bin', program), 0o755);
  }
  mkdirSync(join(dir.path, 'folder'));
  for (const name of ['file-1', 'file-2']) writeFileSync(join(dir.path, name), '');
  writeFileSync(join(dir.path, 'zshrc'), ZSHRC);
  const person = commandLine();
  for (const shell of SHELLS) {
    const { code, out } = await person.svault(['completion', shell]);
    expect(code).toBe(0);
    writeFileSync(join(dir.path, shell), out);
  }
  person.remove();
});
afterAll(() => dir.remove());

function typedInto(program: readonly [string, ...string[]], input: string): string {
  const [command, ...args] = program;
  const env = { PATH: `${join(dir.path, 'bin')}:${process.env['PATH'] ?? ''}`, HOME: dir.path };
  const { stdout } = spawnSync(command, args, {
    cwd: dir.path,
    input,
    env: { ...env, TERM: 'dumb', INPUTRC: '/dev/null' },
    encoding: 'utf8',
    timeout: 20_000,
  });
  return stdout;
}

const BASH = ['bash', '--norc', '--noprofile', '-i'] as const;
const ZSH = ['script', '-qefc', 'zsh -f -i', '/dev/null'] as const;

/** @returns for each line, the words that can stand at its end */
const CANDIDATES: Readonly<Record<Shell, (lines: readonly string[]) => readonly (readonly string[])[]>> = {
  // Alt-* puts all of them on the line.
  bash: (lines) => shownBy(BASH, './bash', lines, '\u001B*'),
  zsh: (lines) => shownBy(ZSH, './zshrc', lines, '\u0018*'),
  fish: (lines) =>
    lines.map((line) => {
      const asked = `source ./fish; complete -C '${line}'`;
      const shown = typedInto(['fish', '--no-config', '-c', asked], '');
      return shown.split('\n').flatMap((each) => (each === '' ? [] : [each.replace(/\t.*$/, '')]));
    }),
};

function shownBy(
  shell: readonly [string, ...string[]],
  script: string,
  lines: readonly string[],
  allOfThem: string,
): readonly (readonly string[])[] {
  const input = [`source ${script}`, ...lines.map((line) => line + allOfThem), 'exit', ''].join('\n');
  const answers = typedInto(shell, input).match(/^(?:<[^>]*>)+/gm) ?? [];
  return answers.map((answer, index) => {
    const before = lines[index]?.split(' ').length ?? 0;
    return answer
      .slice(1, -1)
      .split('><')
      .slice(before - 2);
  });
}

const CASES: readonly (readonly [string, readonly string[]])[] = [
  ['svault ag', ['ag', 'agents']],
  ['svault agents r', ['resume', 'reveal-key', 'rm', 'rotate-key']],
  ['svault vault ', ['edit', 'lock', 'stat', 'status', 'unlock']],
  ['svault --format json vault ', ['edit', 'lock', 'stat', 'status', 'unlock']],
  ['svault --format=json --ctx work wh do', ['down']],
  ['svault --format ', ['json', 'name', 'table', 'wide']],
  ['svault agents list --format=w', ['--format=wide']],
  ['svault tokens create --ty', ['--type']],
  ['svault tk new x --type J', ['JWT']],
  ['svault grant --refresh-policy ', ['auto', 'none']],
  ['svault agents show --dr', ['--dry-run']],
  ['svault --vers', ['--version']],
  ['svault completion ', ['bash', 'fish', 'zsh']],
  ['svault explain TICK', ['TICKET_INVALID']],
  ['svault use w', ['work']],
  ['svault ctx rm me@', ['me@home']],
  ['svault --ctx me@h', ['me@home']],
  ['svault --context=w', ['--context=work']],
  ['svault add x --from-file fil', ['file-1', 'file-2']],
  ['svault webhook up fo', ['folder/']],
  ['svault get gith', ['github']],
  ['svault tk show git', ['github', 'gitlab']],
  ['svault rm npm gitl', ['gitlab']],
  ['svault grant ci gith', ['github']],
  ['svault agents show c', ['ci']],
  ['svault --context work agents show c', ['ci-of-work']],
  ['svault agents --ctx=work off c', ['ci-of-work']],
  ['svault policies list --agent b', ['builder']],
  ['svault reach --agent b', ['builder']],
  ['svault reach --service gitl', ['gitlab']],
  ['svault pol attach n', ['net']],
  ['svault exec --with A=b -- program-of-m', ['program-of-mine']],
];

for (const shell of SHELLS) {
  const needed = shell === 'zsh' ? ['zsh', 'script'] : [shell];
  const missing = needed.filter((program) => spawnSync(program, ['--version']).error !== undefined);
  const isMissing = missing.length > 0 && shell !== 'bash';
  const why = isMissing ? ` (SKIPPED: apt-get install ${missing.join(' ')})` : '';

  describe.skipIf(isMissing)(`${shell}${why}`, () => {
    test('completes commands, aliases, flags, their values, and names of logins, credentials and agents', () => {
      const shown = CANDIDATES[shell](CASES.map(([line]) => line));
      const words = shown.map((each) => each.map((word) => word.replace(/^folder$/, 'folder/')).toSorted());
      expect(Object.fromEntries(CASES.map(([line], index) => [line, words[index]]))).toEqual(
        Object.fromEntries(CASES),
      );
    });

    test('evaluates nothing of the line, and nothing that svault says', () => {
      const lines = [
        'svault get $(touch evaluated) --fi',
        'svault `touch evaluated` ',
        'svault use ',
        'svault get ',
      ];
      // Completed twice, which lists what there is, and taken away again instead of being run.
      const keys = lines.map((line) => `${line}\t\t\u0015`).join('');
      if (shell === 'bash') typedInto(BASH, `source ./bash\n${keys}exit\n`);
      if (shell === 'zsh') typedInto(ZSH, `source ./zshrc\n${keys}exit\n`);
      if (shell === 'fish') CANDIDATES.fish(lines);
      expect(existsSync(join(dir.path, 'evaluated'))).toBe(false);
    });
  });
}
