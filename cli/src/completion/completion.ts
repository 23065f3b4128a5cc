import type { Run } from '../invocation.ts';
import { createProgram } from '../program.ts';
import { bashScript } from './bash-script.ts';
import { commandTree } from './command-tree.ts';
import { fishScript } from './fish-script.ts';
import type { Shell } from './shells.ts';
import { zshScript } from './zsh-script.ts';

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;

/** `completion SHELL`: a script made from the commands that there are, which completes them without running svault. */
export const run: Run<[shell: Shell]> = async (invocation, [shell]) => {
  invocation.terminal.out(SCRIPTS[shell](commandTree(createProgram(invocation))));
};
