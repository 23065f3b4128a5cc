import { setImmediate as immediate } from 'node:timers/promises';
import { CommandEnded, usage } from '../../failure.ts';
import type { Invocation, Run } from '../../invocation.ts';
import { plainLine } from '../../output/plain-line.ts';
import { say } from '../../output/say.ts';
import { runCommand } from '../exec/run-command.ts';
import { childEnvironment } from './child-environment.ts';
import { coveredHosts } from './covered-hosts.ts';
import { startLocalProxy } from './local-proxy.ts';
import { makeRunFolder } from './run-folder.ts';
import { createTally } from './tally.ts';
import { usableProxies } from './usable-proxies.ts';

interface RunOptions {
  readonly proxy?: readonly string[];
  readonly only?: true;
  readonly placeholder?: readonly string[];
  readonly quiet?: true;
}

/** `run -- COMMAND …`: runs a command behind a local proxy, which ends with it. */
export const run: Run<[readonly string[]], RunOptions> = async (
  invocation,
  [[command = '', ...args]],
  { proxy = [], placeholder = [], only = false, quiet = false },
) => {
  checkVariables(placeholder);
  const [{ client, proxies }, { createCertificateAuthority }] = await Promise.all([
    usableProxies(invocation, proxy),
    // Once the request is out, so that it loads while the control plane answers.
    immediate().then(() => import('./certificate-authority.ts')),
  ]);
  const hosts = coveredHosts(proxies);
  const secure = [...hosts.values()].filter(({ scheme }) => scheme === 'https');
  const authority = await createCertificateAuthority(secure.map(({ hostname }) => hostname));
  const tally = createTally();
  const { baseUrl } = client.login.context;
  const folder = makeRunFolder();
  const local = await startLocalProxy({ hosts, authority, baseUrl, only, tally });
  let hasStarted = false;
  let code: number;
  try {
    const { pem } = authority;
    const env = childEnvironment(invocation.env, {
      ...{ proxyUrl: local.url, authority: pem, placeholders: placeholder },
      write: folder.write,
    });
    const onStart = (pid: number): void => {
      hasStarted = true;
      folder.watch(pid);
    };
    code = await runCommand(invocation, { command, args, env, onStart });
  } finally {
    folder.remove();
    await local.close();
  }
  if (hasStarted && !quiet) sumUp(invocation, tally.lines());
  throw new CommandEnded(code);
};

function sumUp(invocation: Invocation, lines: readonly string[]): void {
  // The only sign of a program that ignores the variables.
  const all = lines.length > 0 ? lines : ['no request came through the local proxy'];
  for (const line of all) say(invocation, `svault run: ${line}`);
}

/** POSIX.1-2017, base definitions 8.1 and 3.235. @throws Failure usage */
function checkVariables(names: readonly string[]): void {
  const wrong = names.find((name) => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name));
  if (wrong !== undefined)
    throw usage(
      `--placeholder takes the NAME of a variable, such as GH_TOKEN; “${plainLine(wrong).slice(0, 150)}” is none`,
    );
}
