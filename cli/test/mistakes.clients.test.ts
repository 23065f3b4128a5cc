import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { newKey, randomToken } from '@svault/shared';
import { registrationLinkByPage } from '@svault/test-kit/bind-by-page';
import { programEnv } from '@svault/test-kit/program-env';
import { startTokenEndpoint } from '@svault/test-kit/token-endpoint';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CommandLine, type CommandLineOptions, someone } from './command-line.ts';
import { commandsIn, unknownThings } from './named-things.ts';
import { type PairAndPeople, pairAndPeople } from './pair-and-people.ts';

// The mistakes that owners, operators, agent developers and webhook authors make most, each made as they make it: with a command
// as a process, or over HTTP. Each error names the thing that is wrong and what to do next.

const SECRET = 'a secret of more than sixteen characters';
const JSON_RPC = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
const HOUR_MS = 3_600_000;

let people: PairAndPeople;
let unbound: PairAndPeople;
let ci: Awaited<ReturnType<PairAndPeople['agent']>>;
beforeAll(async () => {
  [people, unbound] = await Promise.all([pairAndPeople(), pairAndPeople({ bound: false })]);
  expect(await people.admin.svault(['add', 'github'], { input: SECRET })).toMatchObject({ code: 0 });
  ci = await people.agent('ci', 'github');
});
afterAll(() => Promise.all([people.close(), unbound.close()]));

/** What a command that fails says. */
async function said(line: CommandLine, words: string, options: CommandLineOptions = {}): Promise<string> {
  const { code, err } = await line.spawned(words.split(' '), options);
  expect(code).toBeGreaterThan(0);
  return err;
}

/** What a request is answered that fails. */
async function answered(url: string, init: RequestInit = {}): Promise<string> {
  const response = await fetch(url, { redirect: 'manual', ...init });
  expect(response.status).toBeGreaterThanOrEqual(400);
  return ((await response.json()) as { error: string }).error;
}

/** What one of the two programs says that does not start. */
const startOf = (program: 'control-plane' | 'webhook', settings: Record<string, string>): Promise<string> =>
  new Promise((resolve) => {
    const main = fileURLToPath(new URL(`../../${program}/src/main.ts`, import.meta.url));
    execFile(process.execPath, [main], { env: programEnv(settings) }, (error, _out, err) => {
      expect(error?.code).toBeGreaterThan(0);
      resolve(err);
    });
  });

const control = (): string => people.pair.controlPlaneUrl();
const bearer = (key: string): RequestInit => ({ headers: { authorization: `Bearer ${key}` } });
const posted = (key: string, body: string): RequestInit => ({
  method: 'POST',
  body,
  headers: {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  },
});
async function ticketUrl(): Promise<string> {
  const { url } = (await (
    await fetch(`${control()}/api/agents/credentials?service=github&redirect=false`, bearer(ci.key))
  ).json()) as { url: string };
  return url;
}
/** Runs something while a state of the account holds. */
async function during<T>(begin: string, end: string, run: () => Promise<T>): Promise<T> {
  await people.pair.admin.call('POST', begin);
  try {
    return await run();
  } finally {
    await people.pair.admin.call('POST', end);
  }
}

async function whileAway<T>(run: () => Promise<T>): Promise<T> {
  await people.pair.stop('webhook');
  try {
    return await run();
  } finally {
    await people.pair.start('webhook');
    // An answer ends the outage; no background job asks for one here.
    await people.pair.admin.call('GET', '/api/webhook');
  }
}

interface Mistake {
  /** Makes it. @returns the error, as its reader sees it */
  readonly make: () => Promise<string>;
  /** The thing that is wrong. */
  readonly names: RegExp;
  /** What to do next. */
  readonly next: string | RegExp;
}

const MISTAKES: Readonly<Record<string, Mistake>> = {
  'a key that nobody issued': {
    make: () => said(ci, 'get github', { env: { SVAULT_KEY: newKey('svagent') } }),
    names: /agent key \(svagent_…\).*revoked/,
    next: 'Ask the owner of the agent for its current one',
  },
  'an admin key that was deleted': {
    make: () => said(people.admin, 'ls', { env: { SVAULT_KEY: newKey('svadmin') } }),
    names: /valid admin key/,
    next: 'Sign in at /login, or send',
  },
  'the key of an agent where an admin’s is needed': {
    make: () => said(ci, 'agents list'),
    names: /SVAULT_KEY is an agent’s key/,
    next: 'svault login',
  },
  'the key of an admin where an agent’s is needed': {
    make: () => answered(`${control()}/api/agents/credentials?service=github`, bearer(people.pair.adminKey)),
    names: /agent key \(svagent_…\)/,
    next: 'Ask the owner of the agent',
  },
  'a key with a line break': {
    make: () => said(ci, 'get github', { env: { SVAULT_KEY: `${ci.key}\n` } }),
    names: /SVAULT_KEY has a line break/,
    next: 'export SVAULT_KEY="$(tr',
  },
  'a key in the query': {
    make: () => answered(`${control()}/api/agents/credentials?service=github&key=${ci.key}`),
    names: /agent key/,
    next: 'Authorization: Bearer svagent_…',
  },
  'no login': {
    make: () => said(people.stranger(), 'ls'),
    names: /nobody is signed in/,
    next: 'svault login --base-url URL',
  },
  'a key without the address that it is for': {
    make: () => said(ci, 'ls', { env: { SVAULT_BASE_URL: '' } }),
    names: /SVAULT_KEY needs SVAULT_BASE_URL/,
    next: 'export SVAULT_BASE_URL=',
  },
  'a login that does not exist': {
    make: () => said(ci, '--context work ls'),
    names: /no login work/,
    next: 'svault login --base-url URL',
  },
  'a misspelt service, as its owner': {
    make: () => said(people.admin, 'show githb'),
    names: /no credential githb/,
    next: 'svault ls',
  },
  'a misspelt service, as an agent, which has no grant for it': {
    make: () => said(ci, 'get githb'),
    names: /no grant for githb/,
    next: 'svault grant AGENT githb',
  },
  'a misspelt agent': {
    make: () => said(people.admin, 'agents show cli'),
    names: /no agent cli/,
    next: 'svault agents list',
  },
  'a grant that has expired': {
    make: async () => {
      const short = await people.agent('short');
      const terms = { serviceName: 'github', expiresInSeconds: 3_600 };
      await people.pair.admin.call('POST', `/api/agents/${short.id}/grants`, terms);
      people.pair.clock.advance(HOUR_MS);
      return said(short, 'get github');
    },
    names: /grant for this service has expired/,
    next: 'svault grant AGENT github',
  },
  'a duration without a unit': {
    make: () => said(people.admin, 'grant ci github --expires 5'),
    names: /--expires 5 has no unit/,
    next: '--expires 5h',
  },
  'an agent that is suspended': {
    make: () =>
      during(`/api/agents/${ci.id}/suspend`, `/api/agents/${ci.id}/resume`, () => said(ci, 'get github')),
    names: /agent is suspended/,
    next: 'svault agents resume AGENT',
  },
  'a vault that is locked': {
    make: () => during('/api/vault/lock', '/api/vault/unlock', () => said(ci, 'get github')),
    names: /vault is locked/,
    next: 'svault vault unlock',
  },
  'MCP for an agent that may not use it': {
    make: () => answered(`${control()}/api/agents/mcp`, posted(ci.key, JSON_RPC)),
    names: /MCP is off for this agent/,
    next: 'svault agents edit AGENT --mcp',
  },
  'a policy that does not allow it': {
    make: async () => {
      const rules = [{ type: 'ip_allowlist', cidrs: ['10.0.0.0/8'] }];
      const { admin } = people.pair;
      const policy = { name: 'office network', enabled: true, rules };
      const { id } = await admin.call<{ id: string }>('POST', '/api/policies', policy);
      const target = { targetType: 'agent', targetId: ci.id };
      await admin.call('POST', `/api/policies/${id}/attachments`, target);
      const denied = await said(ci, 'get github');
      await admin.call('DELETE', `/api/policies/${id}`);
      return denied;
    },
    names: /^error: Denied by policy office network: It is not available from this network address\. \[/,
    next: 'svault explain POLICY_DENIED',
  },
  'a webhook that is offline, as an agent': {
    make: () => whileAway(() => said(ci, 'get github')),
    names: /127\.0\.0\.1:\d+ cannot be reached/,
    next: 'svault webhook status',
  },
  'a webhook that is offline, as its owner': {
    make: () => whileAway(() => said(people.admin, 'webhook status')),
    names: /the webhook at http:\/\/127\.0\.0\.1:\d+ does not answer/,
    next: 'svault webhook up',
  },
  'no webhook, as an agent': {
    make: async () => said(await unbound.agent('early', 'github'), 'get github'),
    names: /No webhook is bound/,
    next: 'svault webhook bind',
  },
  'no webhook, as its owner': {
    make: () => said(unbound.admin, 'webhook status'),
    names: /no webhook is bound/,
    next: 'svault webhook bind',
  },
  'a registration link with a wrong code': {
    make: async () => said(unbound.admin, `webhook bind ${await link(crypto.randomUUID())} --yes`),
    names: /webhook does not know this link/,
    next: /run its bind-link/,
  },
  'a registration link that is cut off': {
    make: async () => said(unbound.admin, `webhook bind ${(await link()).slice(0, -20)} --yes`),
    names: /registration link is not whole/,
    next: /bind-link/,
  },
  'a registration link for another control plane': {
    make: async () => said(unbound.admin, `webhook bind ${(await link()).replace(/:\d+/, ':1')} --yes`),
    names: /that link is for the control plane at http:\/\/127\.0\.0\.1:1,/,
    next: 'SV_WEBHOOK_SERVICE_URL',
  },
  'clocks that differ': {
    make: async () => {
      const skewed = await pairAndPeople({ ownClocks: true });
      try {
        skewed.pair.clock.advance(HOUR_MS);
        return await said(skewed.admin, 'webhook status');
      } finally {
        await skewed.close();
      }
    },
    names: /webhook rejects the signature/,
    next: 'svault webhook unbind, then unseal-bind on the machine of the webhook, then svault webhook bind',
  },
  'a fetch whose new ticket the webhook rejects': {
    make: async () => {
      const skewed = await pairAndPeople({ ownClocks: true });
      try {
        expect(await skewed.admin.svault(['add', 'github'], { input: SECRET })).toMatchObject({ code: 0 });
        skewed.pair.clock.advance(HOUR_MS);
        return await said(skewed.admin, 'get github');
      } finally {
        await skewed.close();
      }
    },
    names: /webhook refused a new ticket: wait 30 seconds after a restore.*TICKET_INVALID/,
    next: 'otherwise run svault doctor',
  },
  'http at an address that others can reach': {
    make: () => said(ci, 'ls', { env: { SVAULT_BASE_URL: 'http://svault.example.org' } }),
    names: /http:\/\/svault\.example\.org is not the address of a control plane/,
    next: 'use https://svault.example.org in SVAULT_BASE_URL',
  },
  'an address with a path': {
    make: () => said(ci, 'ls', { env: { SVAULT_BASE_URL: `${control()}/api` } }),
    names: /\/api has more behind it/,
    next: /set SVAULT_BASE_URL to http:\/\/127\.0\.0\.1:\d+ /,
  },
  'the address of the webhook as that of the control plane': {
    make: () => said(ci, 'ls', { env: { SVAULT_BASE_URL: people.pair.webhookUrl } }),
    names: /http:\/\/127\.0\.0\.1:\d+ is a webhook, not a control plane/,
    next: 'set SVAULT_BASE_URL to the address of the control plane',
  },
  'the address of the webhook, to sign in at': {
    make: () => said(people.stranger(), `login --no-launch-browser --base-url ${people.pair.webhookUrl}`),
    names: /is a webhook, not a control plane/,
    next: 'svault login --base-url URL',
  },
  'the address of the webhook, with an HTTP client': {
    make: () => answered(`${people.pair.webhookUrl}/api/agents/credentials?service=github`, bearer(ci.key)),
    names: /webhook, not a control plane/,
    next: 'the address of the control plane',
  },
  'the address of the control plane as that of the webhook': {
    make: () => answered(`${control()}/v1/credential?ticket=x`),
    names: /control plane, not a webhook/,
    next: 'the address of the webhook',
  },
  'an address where nothing listens': {
    make: () => said(ci, 'ls', { env: { SVAULT_BASE_URL: 'http://127.0.0.1:1' } }),
    names: /nothing listens at 127\.0\.0\.1:1/,
    next: 'Is the control plane running? `npm start` starts it',
  },
  'a misspelt setting of the control plane': {
    make: () => startOf('control-plane', { SV_BASE_ULR: 'http://127.0.0.1:8080' }),
    names: /SV_BASE_ULR is not a setting/,
    next: 'did you mean SV_BASE_URL?',
  },
  'a misspelt setting of the webhook': {
    make: () => startOf('webhook', { SV_WEBHOOK_SERVICE_UR: 'http://127.0.0.1:8080' }),
    names: /SV_WEBHOOK_SERVICE_UR is not a setting/,
    next: 'did you mean SV_WEBHOOK_SERVICE_URL?',
  },
  'a port that another program has': {
    make: async () => {
      const other = createServer().listen(0, '127.0.0.1');
      await once(other, 'listening');
      const listen = `127.0.0.1:${(other.address() as AddressInfo).port}`;
      const refused = await startOf('control-plane', {
        SV_BASE_URL: `http://${listen}`,
        SV_LISTEN: listen,
        SV_MASTER_KEY: randomToken(32),
        SV_DATABASE_URL: `sqlite:${join(someone().dir, 'control-plane.db')}`,
      });
      other.close();
      return refused;
    },
    names: /SV_LISTEN: 127\.0\.0\.1:\d+ is taken by another program/,
    next: 'choose another address',
  },
  'logins that other users can read': {
    make: async () => {
      const careless = someone();
      const key = ['login', '--base-url', control(), '--key', '-'];
      expect(await careless.svault(key, { input: ci.key })).toMatchObject({ code: 0 });
      chmodSync(join(careless.dir, 'contexts.json'), 0o644);
      return said(careless, 'ls');
    },
    names: /contexts\.json is open to other users \(mode 644\)/,
    next: /chmod 600 \S+contexts\.json/,
  },
  'a host that the credential is not allowed at': {
    make: async () => {
      const hosts = ['--allow-host', 'api.github.com', '--allow-header', 'authorization'];
      expect(await people.admin.svault(['add', 'narrow', ...hosts], { input: SECRET })).toMatchObject({
        code: 0,
      });
      const proxy = {
        name: 'elsewhere',
        upstreamUrl: 'https://mcp.example.org/mcp',
        upstreamAuthType: 'Token',
        serviceName: 'narrow',
      };
      const { key } = await people.pair.admin.call<{ key: string }>('POST', '/api/proxies', proxy);
      return answered(`${control()}/api/proxy/mcp`, posted(key, JSON_RPC));
    },
    names: /Host `mcp\.example\.org` is not an allowed host of `narrow`/,
    next: 'svault set narrow --allow-host mcp.example.org --allow-header authorization',
  },
  'a ticket that is used twice': {
    make: async () => {
      const url = await ticketUrl();
      expect((await fetch(url)).status).toBe(200);
      return answered(url);
    },
    names: /ticket is used, too old/,
    next: 'Ask the control plane for a new one',
  },
  'a ticket that is too old': {
    make: async () => {
      const url = await ticketUrl();
      people.pair.clock.advance(HOUR_MS);
      return answered(url);
    },
    names: /ticket is used, too old/,
    next: 'Ask the control plane for a new one',
  },
  'a request to the webhook without a signature': {
    make: () => answered(`${people.pair.webhookUrl}/v1/storage`, posted('x', '{}')),
    names: /not signed as PROTOCOL\.md section 3 asks/,
    next: 'The log of the webhook has the reason',
  },
  'a credential that was named and never stored': {
    make: async () => {
      await people.admin.svault(['add', 'later', '--empty']);
      return said(people.admin, 'get later');
    },
    names: /webhook holds nothing for later/,
    next: 'svault set later',
  },
  'a client secret that the provider of a token rejects': {
    make: async () => {
      const endpoint = await startTokenEndpoint();
      endpoint.misbehave({
        status: 401,
        body: '{"error":"invalid_client","error_description":"This client is disabled."}',
      });
      const record = {
        tokenType: 'JWT',
        accessToken: 'an-access-token-of-some-length',
        refreshToken: 'a-refresh-token-of-some-length',
        provider: { tokenUrl: endpoint.url, clientId: 'client', clientSecret: randomToken(32) },
      };
      const added = await people.admin.svault(['add', 'oauth', '--body', '-'], {
        input: JSON.stringify(record),
      });
      expect(added).toMatchObject({ code: 0 });
      const failed = await said(people.admin, 'tokens refresh oauth');
      await endpoint.close();
      return failed;
    },
    names: /oauth gave no new token \(status 401, invalid_client: This client is disabled\.\)/,
    next: 'svault tokens refresh oauth',
  },
  'a secret as an argument': {
    make: () => said(people.admin, `add leaked ${SECRET.replaceAll(' ', '-')}`),
    names: /too many arguments for 'add'/,
    next: 'svault add --help',
  },
};

/** A registration link of the unbound webhook, for the address at which its control plane listens. */
async function link(code?: string): Promise<string> {
  const { webhookUrl, setupToken, controlPlaneUrl } = unbound.pair;
  const { pathname, searchParams } = new URL(await registrationLinkByPage(webhookUrl, setupToken));
  if (code !== undefined) searchParams.set('code', code);
  return `${controlPlaneUrl()}${pathname}?${searchParams.toString()}`;
}

test.each(Object.entries(MISTAKES))(
  '%s gives an error that names it and what to do next',
  async (_what, mistake) => {
    const error = await mistake.make();
    expect(error).toMatch(mistake.names);
    expect(error).toMatch(mistake.next);
    expect(unknownThings(error.replaceAll(/\S+ is not a setting/g, ''))).toEqual([]);
    const { next } = mistake;
    if (typeof next === 'string' && next.startsWith('svault ')) expect(commandsIn(error)).not.toEqual([]);
    for (const secret of [ci.key, people.pair.adminKey, SECRET]) expect(error).not.toContain(secret);
  },
);

test('at least twenty-five typical mistakes are tried', () => {
  expect(Object.keys(MISTAKES).length).toBeGreaterThanOrEqual(25);
});
