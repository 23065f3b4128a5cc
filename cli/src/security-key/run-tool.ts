import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { failed } from '../failure.ts';
import type { Invocation } from '../invocation.ts';
import { say } from '../output/say.ts';

/** The programs of libfido2, whose options and formats are those of its manual pages. */
export type Tool = 'fido2-assert' | 'fido2-token';

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** What has the programs, by `process.platform`. */
const INSTALLED_BY: Readonly<Record<string, string>> = {
  linux:
    'apt install fido2-tools (Debian, Ubuntu), dnf install fido2-tools (Fedora), pacman -S libfido2 (Arch)',
  darwin: 'brew install libfido2',
};
const ELSEWHERE = 'https://developers.yubico.com/libfido2/';

/**
 * Runs a program of libfido2, without a shell. It asks for a PIN on the terminal itself, so that no PIN comes here. Ctrl-C ends it.
 *
 * @throws Failure where it is not installed; the abort's reason after Ctrl-C
 */
export async function runTool(
  { env, signal, flags, terminal }: Invocation,
  tool: Tool,
  args: readonly string[],
  input = '',
): Promise<Ended> {
  signal.throwIfAborted();
  if (flags.debug === true) say({ terminal }, `> ${[tool, ...args].join(' ')}`);
  const { SVAULT_KEY: _notForATool, ...others } = env;
  const child = spawn(tool, args, { env: others, signal });
  child.stdin.on('error', () => undefined).end(input);
  try {
    const [[code], out, err] = await Promise.all([
      once(child, 'close') as Promise<[number | null]>,
      text(child.stdout),
      text(child.stderr),
    ]);
    return { code, out, err };
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
    const how = INSTALLED_BY[process.platform] ?? ELSEWHERE;
    throw failed(`${tool} of libfido2, which talks to the security key, is not installed here: ${how}`);
  }
}
