import { afterAll, beforeAll, expect, test } from 'vitest';
import { demoSteps } from '../../../src/demo-steps.ts';
import { type Machine, until } from '../engine/machine.ts';
import { pairAgent } from './pair-agent.ts';
import { type PairAndOutside, startPairAndOutside } from './pair-and-outside.ts';
import { type Shell, linesIn, shellBeside } from './instructions.ts';

let pair: PairAndOutside;
let shell: Shell;
let controlPlane: Machine;
let webhook: Machine;
beforeAll(async () => {
  pair = await startPairAndOutside();
  shell = shellBeside(pair);
  [controlPlane, webhook] = await Promise.all([pair.service('control-plane'), pair.service('webhook')]);
});
afterAll(async () => {
  shell?.remove();
  await pair?.remove();
});

test('compose up ends with a bound pair and prints the next steps', async () => {
  expect(await pair.admin.call('GET', '/api/webhook')).toMatchObject({ url: pair.webhookUrl });
  expect(pair.instructions).toContain(`webhook        ${pair.webhookUrl}  (bound)`);
  expect(pair.instructions).toContain('docker compose stop webhook');
});

test('the printed commands lead to a first credential, and the printed link signs the owner in', async () => {
  const [signIn = '', store = '', makeAgent = '', grant = '', get = '', ...fetchIt] = linesIn(
    pair.instructions,
  );
  shell.run(`${signIn}; printf %s 'my first secret' | ${store}`);
  const KEY = shell.run(`${signIn}; ${makeAgent}; printf %s "$KEY"`);
  shell.run(`${signIn}; ${grant}`);
  expect(shell.run(`${signIn}; ${get}`, { KEY })).toBe('my first secret');
  const credential = { token: { accessToken: 'my first secret', serviceName: 'github' } };
  expect(JSON.parse(shell.run(fetchIt.join('; '), { KEY }))).toMatchObject(credential);
  // The names are the demo's too.
  await pair.admin.call('DELETE', '/api/tokens/github');
  const [, link = ''] = /owner link +(http\S+)/.exec(pair.instructions) ?? [];
  expect((await fetch(link)).status).toBe(200);
});

test('every step of the demo does what it should, at all three endpoints and to the kill switch', async () => {
  const machines = { 'control-plane': controlPlane, webhook };
  const told: string[] = [];
  try {
    const demoPair = {
      ...pair,
      process: (name: keyof typeof machines) => machines[name],
      run: async (name: keyof typeof machines, ...words: string[]) => {
        const { exitCode, output } = await machines[name].run(
          'node',
          `/svault/${name}/dist/main.js`,
          ...words,
        );
        if (exitCode !== 0) throw new Error(output);
        return output;
      },
    };
    await demoSteps(demoPair, pair.outside, async (what, run) => void told.push(`${what}: ${await run()}`));
  } finally {
    if (!(await webhook.inspect()).State.Running) await webhook.start();
    await reachable();
  }
  expect(told).toHaveLength(21);
  expect(told.at(-1)).toContain('nothing is delivered');
});

/** What was seen of a webhook that was away is over. */
const reachable = (): Promise<void> =>
  until('that the webhook is reached', async () => {
    const { reachable: is } = await pair.admin.call<{ reachable: boolean }>('GET', '/api/webhook');
    return is;
  });

test('both are published on this machine only', async () => {
  for (const machine of [controlPlane, webhook]) {
    const { Ports } = (await machine.inspect()).NetworkSettings;
    const published = Object.values(Ports).flat();
    expect(published.map(({ HostIp }) => HostIp)).toEqual(['127.0.0.1']);
  }
});

/** Contents of all files under /keys of a container, by their paths. */
async function keysIn(machine: Machine): Promise<ReadonlyMap<string, string>> {
  const { output } = await machine.run('find', '/keys', '-type', 'f');
  const paths = output.split('\n').filter((path) => path !== '');
  const texts = await Promise.all(paths.map(async (path) => (await machine.run('cat', path)).output.trim()));
  return new Map(paths.map((path, index) => [path, texts[index] ?? '']));
}

test('no secret is in the engine’s answers, the environment or written files', async () => {
  const agent = await pairAgent(pair);
  expect(await agent.fetchByRest()).toBe(agent.secret);
  expect((await agent.callByProxy()).status).toBe(200);
  const keys = [...(await keysIn(controlPlane)).values(), ...(await keysIn(webhook)).values()];
  expect(keys).toHaveLength(4);
  const secrets = [...keys, agent.secret, agent.apiKey, agent.proxyKey];
  for (const name of ['keys', 'control-plane', 'webhook', 'bind']) {
    const machine = await pair.service(name);
    const { State } = await machine.inspect();
    const told = [
      JSON.stringify(await machine.inspect()),
      await machine.logs(),
      ...(State.Running ? [(await machine.run('env')).output] : []),
    ].join('\n');
    expect(told.length, name).toBeGreaterThan(1000);
    expect(
      secrets.filter((secret) => told.includes(secret)),
      name,
    ).toEqual([]);
  }
});

test('secrets are files that only their program can read, and each program sees only its own data', async () => {
  const [ofControlPlane, ofWebhook] = [await keysIn(controlPlane), await keysIn(webhook)];
  expect([...ofControlPlane.keys()].toSorted()).toEqual([
    '/keys/control-plane/admin.key',
    '/keys/control-plane/control-plane.key',
  ]);
  expect([...ofWebhook.keys()].toSorted()).toEqual([
    '/keys/webhook/webhook-setup.token',
    '/keys/webhook/webhook.key',
  ]);
  for (const [machine, files] of [
    [controlPlane, ofControlPlane],
    [webhook, ofWebhook],
  ] as const) {
    const { output } = await machine.run('stat', '-c', '%a %U', ...files.keys());
    expect(output).toBe('600 node\n'.repeat(files.size));
    expect((await machine.run('touch', [...files.keys()][0] ?? '')).output).toContain(
      'Read-only file system',
    );
  }
  const data = async (machine: Machine): Promise<readonly string[]> =>
    (await machine.run('sh', '-c', 'find / -xdev -name "*.db"; find /var/lib/svault -name "*.db"')).output
      .split('\n')
      .filter((line) => line.endsWith('.db'));
  expect(await data(controlPlane)).toEqual(['/var/lib/svault/control-plane.db']);
  for (const path of await data(webhook)) expect(path).toMatch(/^\/var\/lib\/svault\/webhook\//);
  expect(await data(webhook)).not.toEqual([]);
});
