import { type ApiClient, apiClient } from '../../api/api-client.ts';
import { serviceNameFrom } from '../../api/service-name.ts';
import { CommandEnded, failed, usage } from '../../failure.ts';
import { runCommand } from './run-command.ts';
import { DryRunDone } from '../../http/dry-run.ts';
import type { Invocation, Run } from '../../invocation.ts';
import { unique } from '../../one-by-one.ts';
import { plainLine } from '../../output/plain-line.ts';
import { say } from '../../output/say.ts';
import { fetchCredential } from '../../webhook-direct/fetch-credential.ts';

/** `exec --with NAME=SERVICE … -- COMMAND …`: nothing is started unless all credentials are there. */
export const exec: Run<[readonly string[]], { readonly with?: readonly string[] }> = async (
  invocation,
  [[command = '', ...args]],
  options,
) => {
  const wanted = assignments(options.with ?? []);
  const client = await apiClient(invocation, 'anybody');
  if (client.dryRun) return wouldFetch(invocation, client, wanted, command);
  const credentials = await fetched(invocation, client, wanted);
  const { SVAULT_KEY: _notForACommand, ...others } = invocation.env;
  throw new CommandEnded(await runCommand(invocation, { command, args, env: { ...others, ...credentials } }));
};

/** One after another: a burst of requests is what limits are for. A token that fills two variables is fetched once. */
async function fetched(
  invocation: Invocation,
  client: ApiClient,
  wanted: readonly Assignment[],
): Promise<Readonly<Record<string, string>>> {
  const values = new Map<string, string>();
  const filled: [string, string][] = [];
  for (const { variable, token } of wanted) {
    const value = values.get(token) ?? (await fetchCredential(invocation, client, token)).accessToken;
    if (value.includes('\0'))
      throw failed(`${token} holds a NUL character, which no environment variable can`);
    values.set(token, value);
    filled.push([variable, value]);
  }
  return Object.fromEntries(filled);
}

async function wouldFetch(
  invocation: Invocation,
  client: ApiClient,
  wanted: readonly Assignment[],
  command: string,
): Promise<void> {
  for (const token of unique(wanted.map((each) => each.token)))
    await fetchCredential(invocation, client, token).catch((error: unknown) => {
      if (!(error instanceof DryRunDone)) throw error;
    });
  say(invocation, `would run ${command}`);
}

/** `--with NAME=SERVICE` */
interface Assignment {
  readonly variable: string;
  readonly token: string;
}

/** POSIX.1-2017, base definitions 8.1 and 3.235. */
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

function assignments(texts: readonly string[]): readonly Assignment[] {
  const read = texts.map((text) => {
    const [, variable = '', token = ''] = /^([^=]*)=(.*)$/s.exec(text) ?? [];
    if (!VARIABLE.test(variable))
      throw usage(
        `--with takes NAME=SERVICE, such as GITHUB_TOKEN=github; “${plainLine(text).slice(0, 150)}” is none`,
      );
    return { variable, token: serviceNameFrom(token) };
  });
  const twice = read.find(
    ({ variable }, index) => read.findIndex((each) => each.variable === variable) < index,
  );
  if (twice !== undefined) throw usage(`--with fills ${twice.variable} twice`);
  if (read.length === 0) throw usage('exec needs --with NAME=SERVICE, such as --with GITHUB_TOKEN=github');
  return read;
}
