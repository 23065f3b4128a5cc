import { readdirSync } from 'node:fs';
import { newKey } from '@svault/shared';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CommandLine, commandLine } from './command-line.ts';
import { type FakeServer, fakeServer } from './fake-servers.ts';

let service: FakeServer;
const people: CommandLine[] = [];
beforeAll(async () => {
  service = await fakeServer(() => ({ status: 200, body: {} }));
});
afterAll(async () => {
  await service.close();
  for (const person of people) person.remove();
});

const AGENT = 'svagent' as const;
const ADMIN = 'svadmin' as const;
const DELIVERY = 'GET https://webhook.invalid/v1/credential?ticket=…';
const STORE = 'POST https://webhook.invalid/v1/store';

test.each([
  [ADMIN, 'whoami', 'GET /api/me'],
  [ADMIN, 'ls', 'GET /api/tokens?limit=100'],
  [ADMIN, 'get github', `POST /api/tokens/github/credential-ticket\n{}\n${DELIVERY}`],
  [ADMIN, 'get github --check', 'GET /api/tokens/github'],
  [ADMIN, 'show github', 'GET /api/tokens/github'],
  [
    ADMIN,
    'set github --if-version 3',
    `GET /api/tokens/github\nPOST /api/tokens/github/store-ticket\n{"ifv":3}\n${STORE}\n{"tokenType":"PlainText","value":"…"}`,
    'what github holds is not asked for: shown as of type PlainText, without restrictions\n',
  ],
  [ADMIN, 'tokens edit github --notes=x', 'PATCH /api/tokens/github\n{"notes":"x"}'],
  [ADMIN, 'show Zoe\u0308', 'GET /api/tokens/Zo%C3%AB'],
  [ADMIN, 'tokens refresh github', 'POST /api/tokens/github/refresh'],
  [ADMIN, 'tokens history github', 'GET /api/tokens/github/history?limit=50'],
  [ADMIN, 'tokens store-ticket github --if-version 0', 'POST /api/tokens/github/store-ticket\n{"ifv":0}'],
  [ADMIN, 'rm a b a', 'DELETE /api/tokens/a\nDELETE /api/tokens/b'],
  [ADMIN, 'agents list', 'GET /api/agents?limit=100'],
  [ADMIN, 'agents show ci', 'GET /api/agents/ci\nGET /api/agents/ci/grants?limit=100'],
  [ADMIN, 'agents edit ci --no-mcp', 'PATCH /api/agents/ci\n{"mcpEnabled":false}'],
  [ADMIN, 'agents suspend ci', 'POST /api/agents/ci/suspend'],
  [ADMIN, 'agents resume ci', 'POST /api/agents/ci/resume'],
  [ADMIN, 'agents rm ci', 'DELETE /api/agents/ci'],
  [ADMIN, 'grants list ci', 'GET /api/agents/ci/grants?limit=100'],
  [
    ADMIN,
    'grant ci a b --expires 1h --refresh-policy auto',
    'POST /api/agents/ci/grants\n{"serviceName":"a","expiresInSeconds":3600,"refreshPolicy":"auto"}\n' +
      'POST /api/agents/ci/grants\n{"serviceName":"b","expiresInSeconds":3600,"refreshPolicy":"auto"}',
  ],
  [ADMIN, 'grants rm ci a ä', 'DELETE /api/agents/ci/grants/a\nDELETE /api/agents/ci/grants/%C3%A4'],
  [ADMIN, 'vault status', 'GET /api/vault'],
  [ADMIN, 'vault lock', 'POST /api/vault/lock'],
  [ADMIN, 'vault unlock', 'POST /api/vault/unlock'],
  [ADMIN, 'webhook status', 'GET /api/webhook'],
  [AGENT, 'whoami', 'GET /api/agents/credentials'],
  [AGENT, 'ls', 'GET /api/agents/credentials'],
  [AGENT, 'show github', 'GET /api/agents/credentials'],
  [AGENT, 'get github', `GET /api/agents/credentials?service=github&redirect=true\n${DELIVERY}`],
  [AGENT, 'get github --check', `GET /api/agents/credentials?service=github&redirect=true\n${DELIVERY}`],
  [
    AGENT,
    'exec --with A=github -- false',
    `GET /api/agents/credentials?service=github&redirect=true\n${DELIVERY}`,
    'would run false\n',
  ],
])(
  '%s %s --dry-run shows what it would send, sends nothing and keeps nothing',
  async (kind, words, shown, said = '') => {
    const person = commandLine({ SVAULT_BASE_URL: service.url, SVAULT_KEY: newKey(kind) });
    people.push(person);
    const [command = '', ...args] = words.split(' ');
    const { code, out, err } = await person.svault([command, '--dry-run', '--format', 'json', ...args], {
      input: 'a secret',
    });
    const requests = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { method: string; url: string; body?: object })
      .map(({ method, url, body }) =>
        [
          `${method} ${url.replace(service.url, '')}`,
          ...(body === undefined ? [] : [JSON.stringify(body)]),
        ].join('\n'),
      );
    expect({ code, err, shown: requests.join('\n') }).toEqual({ code: 0, err: said, shown });
    expect(service.received).toEqual([]);
    expect(readdirSync(person.dir)).toEqual([]);
  },
);

test.each([
  ['RawCredential', { minter: { type: 'aws-sts', accessKeyId: 'hidden', secretAccessKey: 'hidden' } }],
  ['JWT', { accessToken: 'hidden', refreshToken: 'hidden' }],
  ['Certificate', { certificate: 'hidden', privateKey: 'hidden' }],
  ['TOTP', { secret: 'HIDDENHIDDENHIDDEN' }],
  ['SSHKey', { privateKey: 'hidden' }],
])('of a %s it shows the names of members, and no secret', async (tokenType, members) => {
  const person = commandLine({ SVAULT_BASE_URL: service.url, SVAULT_KEY: newKey(ADMIN) });
  people.push(person);
  const { code, out, err } = await person.svault(['add', 'x', '--body', '-', '--dry-run'], {
    input: JSON.stringify({ tokenType, ...members }),
  });
  expect({ code, err }).toEqual({ code: 0, err: '' });
  for (const name of Object.keys(members)) expect(out).toContain(`"${name}": "…"`);
  expect(out).not.toMatch(/hidden/i);
  expect(service.received).toEqual([]);
});

test('a secret in a field on the command line is warned of', async () => {
  const person = commandLine({ SVAULT_BASE_URL: service.url, SVAULT_KEY: newKey(ADMIN) });
  people.push(person);
  const args = ['add', 'x', '--type', 'SSHKey', '--field', 'privateKey=seen', '--dry-run'];
  const { code, out, err } = await person.svault(args);
  expect({ code, err }).toEqual({
    code: 0,
    err: expect.stringMatching(/^warning: [^\n]*--field privateKey[^\n]*\n$/),
  });
  expect(out).not.toContain('seen');
});
