/** Each command runs against a real pair, and the commands together reach each operation of the management API. */
import { PassThrough } from 'node:stream';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createProgram } from '../src/program.ts';
import { type Outcome, seat } from './command-line.ts';
import { type PairAndPeople, pairAndPeople } from './pair-and-people.ts';

/** Commands that other files test, since they need more than a pair. */
const COMMANDS_ELSEWHERE: Readonly<Record<string, string>> = {
  login: 'login-by-browser.test.ts, with a browser’s part in it',
  logout: 'login-by-browser.test.ts: it needs such a login',
  use: 'logins.test.ts: it is about logins that are kept',
  'context list': 'logins.test.ts',
  'context use': 'logins.test.ts',
  'context current': 'logins.test.ts',
  'context rm': 'logins.test.ts',
  'webhook init': 'webhook-init.test.ts: it writes files, and calls nobody',
  'webhook up': 'webhook-containers.test.ts: it needs a container engine',
  'webhook down': 'webhook-containers.test.ts',
  'webhook bind': 'webhook-bind.test.ts, with a webhook that is not bound',
  approve: 'approve.test.ts, with a security key of its own',
  completion: 'completion.test.ts, in the shells',
  run: 'run/run.test.ts, with an API over TLS that its proxy covers',
  'audit compare': 'audit-compare.test.ts, with what the webhook wrote',
  import: 'import.test.ts, with a home folder of its own',
};

/** Operations that no command of the scenario reaches, and why. */
const OPERATIONS_ELSEWHERE: Readonly<Record<string, string>> = {
  beginCliLogin: 'svault login: login-by-browser.test.ts',
  exchangeCliCode: 'svault login: login-by-browser.test.ts',
  refreshCliSession: 'every command with a login that is about to end: session-renewal.test.ts',
  logout: 'svault logout: login-by-browser.test.ts',
  bindWebhook: 'svault webhook bind: webhook-bind.test.ts',
  signInByLink: 'opens a session of a browser; people use the page, programs an admin key',
  signInByPassword: 'opens a session of a browser; svault login opens that page',
  streamAuditEvents: 'svault audit export --follow: audit-export.test.ts; it goes on until Ctrl-C',
  readReachMatrix: 'the table of the console; svault reach lists the same pairs',
  getNotificationOptions: 'what a browser subscribes with: the console',
  getSetup: 'the first steps of the console’s guide; each step has a command',
  markSetupStep: 'the first steps of the console’s guide; each step has a command',
};

/** Paths that agents and MCP clients call, with keys that no management command has. */
const OF_AGENTS =
  /^\/(?:api\/(?:agents\/(?:credentials|mcp|proxies)|proxy\/.*|mcp-oauth\/.*)|\.well-known\/.*|healthz|readyz)$/;

const POLICIES = `
name: office hours
rules:
  - type: ip_allowlist
    cidrs: [192.0.2.0/24]
attach:
  agents: [ci]
`;
const HELD = `
name: held
rules: [{ type: manual_approval }]
attach: { agents: [ci] }
`;
const TESTS = 'tests: [{ agent: ci, service: github, ip: 192.0.2.7, expect: allowed }]';

/** What runs, in this order; a number before a line is its exit code. */
const SCENARIO = `
version
help agents
explain NO_GRANT
whoami
complete-names agents
add github --value 0123456789abcdef0123
add npm --value 0123456789abcdef0123 --allow-host npm.example
ls
tokens list
get github
tokens get github --check
show github
tokens show github
set github --value another0123456789abc
tokens set github --value 0123456789abcdef0123
tokens create pypi --empty
tokens edit github --notes x
1 tokens refresh github
tokens history github
tokens store-ticket pypi
tokens rm pypi --yes
agents create --name ci
agents list
agents show ci
agents edit ci --mcp
agents suspend ci
agents resume ci
agents rotate-key ci --yes
agents reveal-key ci
grant ci github
grants list ci
reach --agent ci --service github
grants rm ci github
grants add ci github
grants add ci github --renew --expires never
exec --with A=github -- true
policies apply FILES/held.yaml
approvals list
APPROVAL approvals show ID
APPROVAL approvals approve ID
APPROVAL approvals deny ID
policies rm held --yes
folders create --name build --services github,npm
folders list
folders show build
folders edit build --remove npm
folders grant build ci
folders rm build --yes
policies apply FILES/policies.yaml
policies diff FILES/policies.yaml
policies apply FILES/changed.yaml
policies preview FILES/policies.yaml
policies test FILES/tests.yaml
policies simulate --agent ci --service github
policies list
policies show office~hours
policies export
policies detach office~hours --agent ci
8 policies diff FILES/policies.yaml
policies attach office~hours --service github
policies rm office~hours --yes
proxies create --name npm --upstream-url https://npm.example/mcp --service npm
proxies list
proxies show npm
proxies edit npm --name packages
proxies reveal-key packages
proxies revoke packages --yes
proxies rm packages --yes
vault status
vault lock
vault unlock
vault edit --access-requests
audit list
audit show 1
audit export
audit verify
4 audit checkpoint
limits list
limits usage --agent ci
limits
account overview
account activity
account activity --bucket day --from 30d --agent ci
account active-agents --hours 1
account attention
account dismiss --all
account export
3 account password
members add ada@example.org
members list
members edit ada@example.org --role admin
members invite ada@example.org
sessions list
sessions list --agent ci
SESSION sessions rm ID --yes
members rm ada@example.org --yes
notifications create --type webhook --name ops --url https://hooks.invalid/approvals
notifications list
1 notifications test ops
notifications rm ops --yes
admin-keys create --name terraform
admin-keys list
admin-keys rm terraform --yes
providers create --name id --token-url https://id.example/token --client-id svault --from-file FILES/secret
providers list
providers edit id --name identity
providers rm identity --yes
doctor
webhook status
webhook rotate-secret
agents rm ci --yes
rm npm --yes
webhook unbind --yes
`;

const program = createProgram({ ...seat(), env: {}, signal: new AbortController().signal });
const leavesOf = (command: Command, before: readonly string[] = []): readonly string[] =>
  command.commands.length === 0
    ? [before.join(' ')]
    : command.commands.flatMap((each) => leavesOf(each, [...before, each.name()]));
const LEAVES = leavesOf(program);

interface Ran extends Outcome {
  readonly line: string;
  readonly wanted: number;
}

let people: PairAndPeople;
const ran: Ran[] = [];
beforeAll(async () => {
  people = await pairAndPeople();
  const { dir } = people.admin;
  writeFileSync(join(dir, 'policies.yaml'), POLICIES);
  writeFileSync(join(dir, 'changed.yaml'), POLICIES.replace('/24', '/25'));
  writeFileSync(join(dir, 'tests.yaml'), TESTS);
  writeFileSync(join(dir, 'held.yaml'), HELD);
  writeFileSync(join(dir, 'secret'), 'a client’s secret'.replace('’', "'"));
  for (const each of SCENARIO.trim().split('\n')) {
    const [, code = '0', line = ''] = /^(?:(\d) )?(.*)$/.exec(each) ?? [];
    const words = (await withId(line)).split(' ').map((word) => word.replace('FILES', dir).replace('~', ' '));
    const keyboard =
      line === 'account password' ? typing(['', 'long enough to be one', 'long enough to be one']) : {};
    const outcome = await people.admin.svault([...words, '--debug'], keyboard);
    ran.push({ line: words.join(' '), wanted: Number(code), ...outcome });
  }
});
afterAll(() => people.close());

const withId = async (line: string): Promise<string> => {
  if (line.startsWith('SESSION')) return withSession(line);
  return line.startsWith('APPROVAL') ? withApproval(line) : line;
};

let askedFor: string | undefined;
const withApproval = async (line: string): Promise<string> =>
  line.replace('APPROVAL ', '').replace('ID', (askedFor ??= await askedByAgent()));

/** Asks as the agent. @returns the approval that it waits for */
async function askedByAgent(): Promise<string> {
  const { out: key } = await people.admin.svault(['agents', 'reveal-key', 'ci']);
  const url = `${people.pair.controlPlaneUrl()}/api/agents/credentials?service=github&redirect=false`;
  const answer = await fetch(url, { headers: { authorization: `Bearer ${key.trim()}` } });
  const { approval } = (await answer.json()) as { approval: { id: string } };
  return approval.id;
}

/** Signs the new member in, and names their session. */
async function withSession(line: string): Promise<string> {
  const { out } = await people.admin.svault(['members', 'invite', 'ada@example.org']);
  const token = new URL(out.trim()).searchParams.get('token');
  const url = `${people.pair.controlPlaneUrl()}/api/login/link`;
  const headers = { 'content-type': 'application/json' };
  await fetch(url, { method: 'POST', headers, body: JSON.stringify({ token }) });
  const { out: id } = await people.admin.svault(['sessions', 'list', '--format', 'name']);
  return line.replace('SESSION ', '').replace('ID', id.trim());
}

/** A person at a terminal who answers each question. */
function typing(answers: readonly string[]) {
  const stdin = Object.assign(new PassThrough(), { setRawMode: () => undefined });
  let asked = 0;
  return {
    stdin,
    isPerson: true,
    onErr: (said: string): void => {
      const questions = said.match(/assword[^\n]*: /g)?.length ?? 0;
      while (asked < questions) stdin.write(`${answers[asked++] ?? ''}\r`);
    },
  };
}

test('every command ends as it should with a real pair', () => {
  const unexpected = ran.filter(({ code, wanted }) => code !== wanted);
  const said = unexpected.map(
    ({ line, code, err }) => `${line}: ${code} ${/^error: .*/m.exec(err)?.[0] ?? err}`,
  );
  expect(said).toEqual([]);
});

test('no command is left out, but those that other files test', () => {
  const commandOf = (line: string): string | undefined =>
    LEAVES.find((leaf) => line === leaf || line.startsWith(`${leaf} `));
  const run = new Set(ran.map(({ line }) => commandOf(line)));
  expect(LEAVES.filter((leaf) => !run.has(leaf)).toSorted()).toEqual(
    Object.keys(COMMANDS_ELSEWHERE).toSorted(),
  );
});

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly operationId: string }>>>>;
}

test('every operation of the management API is reached by a command, but those with a reason', async () => {
  const answer = await fetch(`${people.pair.controlPlaneUrl()}/api/openapi.json`);
  const { paths } = (await answer.json()) as OpenApi;
  const operations = Object.entries(paths)
    .filter(([path]) => !OF_AGENTS.test(path))
    // A path without a parameter goes before one that it would fit.
    .toSorted(([one], [other]) => one.split('{').length - other.split('{').length)
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId }]) => ({
        operationId,
        form: new RegExp(`^${method.toUpperCase()} ${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
      })),
    );
  const requests = ran.flatMap(({ err }) =>
    [...err.matchAll(/^> (\w+) (\S+)$/gm)].map(
      ([, method, url = '']) => `${method} ${new URL(url).pathname}`,
    ),
  );
  const reached = new Set(
    requests.map((each) => operations.find(({ form }) => form.test(each))?.operationId),
  );
  const others = operations.map(({ operationId }) => operationId).filter((each) => !reached.has(each));
  expect(others.toSorted()).toEqual(Object.keys(OPERATIONS_ELSEWHERE).toSorted());
});
