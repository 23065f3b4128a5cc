import { readdirSync } from 'node:fs';
import { newKey } from '@svault/shared';
import { expect, test } from 'vitest';
import { type CommandLineOptions, type Outcome, someone } from './command-line.ts';
import { fakeServer } from './fake-servers.ts';

const AGENT = 'svagent' as const;
const ADMIN = 'svadmin' as const;
const DELIVERY = 'GET https://webhook.invalid/v1/credential?ticket=…';
const APPROVAL = 'apr_3kTMd8Q2sWv0bXh1pZ9aRg';
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
  [
    ADMIN,
    'add github --allow-host a.example',
    `POST /api/tokens\n{"serviceName":"github","tokenType":"PlainText"}\n${STORE}\n{"tokenType":"PlainText","value":"…","allowedHosts":["a.example"]}`,
  ],
  [ADMIN, 'agents list', 'GET /api/agents?limit=100'],
  [
    ADMIN,
    'agents create --name ghost --grants a,b',
    'POST /api/agents\n{"name":"ghost"}\nPOST /api/agents/ID/grants\n{"serviceName":"a"}\nPOST /api/agents/ID/grants\n{"serviceName":"b"}',
  ],
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
  [ADMIN, 'approvals', 'GET /api/approvals?status=pending&limit=100'],
  [ADMIN, 'approvals list --all', 'GET /api/approvals?limit=100'],
  [ADMIN, `approvals show ${APPROVAL}`, `GET /api/approvals/${APPROVAL}`],
  [
    ADMIN,
    `approvals approve https://c.example/approvals/${APPROVAL}`,
    `POST /api/approvals/${APPROVAL}/approve\n{}`,
  ],
  [
    ADMIN,
    `approvals approve ${APPROVAL} --expires 8h --refresh-policy auto`,
    `POST /api/approvals/${APPROVAL}/approve\n{"expiresInSeconds":28800,"refreshPolicy":"auto"}`,
  ],
  [ADMIN, `approvals deny ${APPROVAL}`, `POST /api/approvals/${APPROVAL}/deny`],
  [
    ADMIN,
    'get github --wait 60 --reason ship',
    `POST /api/tokens/github/credential-ticket\n{"approval":{"reason":"ship"}}\n${DELIVERY}`,
  ],
  [
    AGENT,
    'get github --wait 60 --reason ship',
    `GET /api/agents/credentials?service=github&redirect=true&wait=0&reason=ship\n${DELIVERY}`,
  ],
  [
    ADMIN,
    'notifications create --type email --name ann --address ann@example.org',
    'POST /api/notifications\n{"type":"email","name":"ann","address":"ann@example.org"}',
  ],
  [ADMIN, 'notifications test ops', 'POST /api/notifications/ops/test'],
  [ADMIN, 'vault status', 'GET /api/vault'],
  [ADMIN, 'vault lock', 'POST /api/vault/lock'],
  [ADMIN, 'vault edit --no-access-requests', 'PATCH /api/vault\n{"accessRequests":false}'],
  [ADMIN, 'vault unlock', 'POST /api/vault/unlock'],
  [ADMIN, 'webhook status', 'GET /api/webhook'],
  [ADMIN, 'webhook rotate-secret', 'POST /api/webhook/rotate-secret'],
  [ADMIN, 'webhook unbind', 'GET /api/webhook\nDELETE /api/webhook'],
  [ADMIN, 'agents rotate-key ci', 'POST /api/agents/ci/rotate-key'],
  [
    ADMIN,
    'policies simulate --agent ci --service github --ip 192.0.2.7',
    'POST /api/policies/simulate\n{"agentId":"ci","serviceName":"github","ip":"192.0.2.7"}',
  ],
  [
    ADMIN,
    'policies detach net --agent ci',
    'DELETE /api/policies/net/attachments\n{"targetType":"agent","targetId":"ci"}',
  ],
  [
    ADMIN,
    'proxies edit npm --agent none --header default',
    'PATCH /api/proxies/npm\n{"agentId":null,"headerTemplates":null}',
  ],
  [ADMIN, 'folders grant build ci', 'POST /api/agents/ci/grants\n{"folderId":"build"}'],
  [
    ADMIN,
    'providers create --name id --token-url https://id.example/token --client-id x',
    'POST /api/providers\n{"name":"id","tokenUrl":"https://id.example/token","clientId":"x","authMethod":"client_secret_basic","clientSecret":"…"}',
  ],
  [ADMIN, 'audit --service github --limit 5', 'GET /api/audit?delivery=true&serviceName=github&limit=5'],
  [ADMIN, 'audit export --after 7', 'GET /api/audit/export?order=asc&after=7'],
  [ADMIN, 'audit export --follow', 'GET /api/events?after=0'],
  [ADMIN, 'members rm ada', 'DELETE /api/members/ada'],
  [ADMIN, 'account export', 'GET /api/account/export'],
  [ADMIN, 'doctor', 'GET /readyz'],
  [AGENT, 'whoami', 'GET /api/agents/credentials'],
  [AGENT, 'ls', 'GET /api/agents/credentials'],
  [AGENT, 'show github', 'GET /api/agents/credentials'],
  [AGENT, 'get github', `GET /api/agents/credentials?service=github&redirect=true\n${DELIVERY}`],
  [AGENT, 'get github --check', `GET /api/agents/credentials?service=github&redirect=true\n${DELIVERY}`],
  [
    AGENT,
    'exec --with A=github --with B=npm --with C=github -- false',
    `GET /api/agents/credentials?service=github&redirect=true\n${DELIVERY}\nGET /api/agents/credentials?service=npm&redirect=true\n${DELIVERY}`,
    'would run false\n',
  ],
])(
  '%s %s --dry-run shows what it would send, sends nothing and keeps nothing',
  async (kind, words, shown, said = '') => {
    const { code, out, err, url } = await dryRun(kind, ['--format', 'json', ...words.split(' ')]);
    const requests = out
      .trim()
      .split('\n')
      .map((line) => {
        const request = JSON.parse(line) as { method: string; url: string; body?: object };
        const body = request.body === undefined ? '' : `\n${JSON.stringify(request.body)}`;
        return `${request.method} ${request.url.replace(url, '')}${body}`;
      });
    expect({ code, err, shown: requests.join('\n') }).toEqual({ code: 0, err: said, shown });
  },
);

test.each([
  ['RawCredential', { minter: { type: 'aws-sts', accessKeyId: 'hidden', secretAccessKey: 'hidden' } }],
  ['JWT', { accessToken: 'hidden', refreshToken: 'hidden' }],
  ['Certificate', { certificate: 'hidden', privateKey: 'hidden' }],
  ['TOTP', { secret: 'HIDDENHIDDENHIDDEN' }],
  ['SSHKey', { privateKey: 'hidden' }],
])('of a %s it shows the names of members, and no secret', async (tokenType, members) => {
  const input = JSON.stringify({ tokenType, ...members });
  const { code, out, err } = await dryRun(ADMIN, ['add', 'x', '--body', '-'], { input });
  expect({ code, err }).toEqual({ code: 0, err: '' });
  for (const name of Object.keys(members)) expect(out).toContain(`"${name}": "…"`);
  expect(out).not.toMatch(/hidden/i);
});

test('a secret in a field on the command line is warned of', async () => {
  const args = ['add', 'x', '--type', 'SSHKey', '--field', 'privateKey=seen'];
  const { code, out, err } = await dryRun(ADMIN, args);
  expect({ code, err }).toEqual({
    code: 0,
    err: expect.stringMatching(/^warning: [^\n]*--field privateKey[^\n]*\n$/),
  });
  expect(out).not.toContain('seen');
});

async function dryRun(
  kind: typeof AGENT | typeof ADMIN,
  args: readonly string[],
  options: CommandLineOptions = { input: 'a secret of enough bits' },
): Promise<Outcome & { readonly url: string }> {
  const { url, received } = await fakeServer(() => ({ body: {} }));
  const person = someone({ SVAULT_BASE_URL: url, SVAULT_KEY: newKey(kind) });
  const outcome = await person.svault(['--dry-run', ...args], options);
  expect([received, readdirSync(person.dir)]).toEqual([[], []]);
  return { ...outcome, url };
}
