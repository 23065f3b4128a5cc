import { randomToken } from '@svault/shared';
import type { Check } from '../../check/check.ts';
import { expectOk, expectRefusal, expectThat } from '../../check/expect.ts';
import type { Answer } from '../../http/client.ts';
import { text } from '../../http/read-answer.ts';
import type { Tools } from '../../check/tools.ts';
import { isMembers } from './holdings.ts';
import { SECRET_NAMES, reveals } from './reveals-secret.ts';
import { expectError, resultsOf } from './batches.ts';
import { takesProviders } from '../store/takes-providers.ts';

const CLAIMS = ['storage'] as const;

/** Expects a refusal that says nothing of what was sent. */
function expectSecretField(answer: Answer, canary: string, what: string): void {
  expectRefusal(answer, 'SECRET_FIELD', what);
  expectThat(!text(answer).includes(canary), answer, `an answer without what was sent, for ${what}`);
}

const event = (tools: Tools, members: object): { readonly id: string; readonly agentId: string } => {
  const agentId = `agt_${randomToken(12)}`;
  const timestamp = new Date(0).toISOString();
  const id = tools.freshName();
  return { id, eventType: 'CONFORMANCE', timestamp, outcome: 'success', agentId, ...members } as {
    id: string;
    agentId: string;
  };
};

/** Protocol section 5.3, what has no place in `/v1/storage`. */
export const STORAGE_SECRET_CHECKS: readonly Check[] = [
  {
    id: 'storage.secret-names',
    title: 'an operation with a member that is called as a secret is refused, by each of the names',
    requirements: ['STO-04'],
    claims: CLAIMS,
    run: async (tools) => {
      const canary = `canary-${randomToken()}`;
      for (const name of SECRET_NAMES) {
        const answer = await tools.storage({ op: 'tokens.list', limit: 1, [name]: canary });
        expectSecretField(answer, canary, name);
      }
    },
  },
  {
    id: 'storage.secret-names-in-batch',
    title: 'such an operation is refused in its place in a batch, and stops no other',
    requirements: ['STO-04', 'STO-08'],
    claims: CLAIMS,
    run: async (tools) => {
      const list = { op: 'tokens.list', limit: 1 };
      const answer = await tools.storage({
        batch: [list, ...SECRET_NAMES.map((name) => ({ ...list, [name]: 'x' })), list],
      });
      const results = resultsOf(answer, SECRET_NAMES.length + 2);
      for (const [index, name] of SECRET_NAMES.entries())
        expectError(answer, results[index + 1], 'SECRET_FIELD', `an operation with ${name}`);
      for (const each of [results[0], results.at(-1)])
        expectThat(Array.isArray(each?.['items']), answer, 'items as the first and as the last result');
    },
  },
  {
    id: 'storage.secret-letter-case',
    title: 'such a member is refused in any letter case',
    requirements: ['STO-04'],
    claims: CLAIMS,
    run: async (tools) => {
      for (const name of ['accesstoken', 'PASSWORD', 'OtpAuthUri', 'privatekey', 'Value', 'CLIENTSECRET'])
        expectSecretField(
          await tools.storage({ op: 'tokens.list', limit: 1, [name]: 'canary' }),
          'canary',
          name,
        );
    },
  },
  {
    id: 'storage.secret-depth',
    title: 'such a member is refused at any depth, and nothing is done',
    requirements: ['STO-04'],
    claims: CLAIMS,
    run: async (tools) => {
      const canary = `canary-${randomToken()}`;
      let deep: object = { passphrase: canary };
      for (let level = 0; level < 20; level++) deep = { in: deep };
      for (const [what, detail] of [
        ['a member of detail', { password: canary }],
        ['a member in a list', { list: [1, { more: [{ clientSecret: canary }] }] }],
        ['a member far down', deep],
      ] as const) {
        const appended = event(tools, { detail });
        const other = event(tools, {});
        const answer = await tools.storage({ op: 'audit.append', events: [other, appended] });
        expectSecretField(answer, canary, what);
        const { items } = expectOk(await tools.storage({ op: 'audit.list', agentId: appended.agentId }));
        expectThat(Array.isArray(items) && items.length === 0, answer, `no entry with ${what}`);
      }
    },
  },
  {
    id: 'storage.secret-refusal-keeps',
    title: 'a refused secret changes nothing',
    requirements: ['STO-04'],
    claims: CLAIMS,
    run: async (tools) => {
      const { name: serviceName } = await tools.given.text();
      const deletes = await tools.storage({ op: 'tokens.delete', serviceName, secret: 'canary-1' });
      expectSecretField(deletes, 'canary-1', 'a delete with a secret');
      expectOk(await tools.storage({ op: 'tokens.get', serviceName }));
      const proxyId = tools.freshProxyId();
      const config = { upstreamUrl: 'https://api.example/', headerTemplates: {} };
      const put = { op: 'proxies.put', proxyId, serviceName, ...config, accessToken: 'canary-2' };
      expectSecretField(await tools.storage(put), 'canary-2', 'a put with a secret');
      expectRefusal(await tools.storage({ op: 'proxies.get', proxyId }), 'NOT_FOUND');
    },
  },
  {
    id: 'storage.secret-header-names',
    title: 'a header of a template may be called as a secret',
    requirements: ['STO-05'],
    claims: CLAIMS,
    run: async (tools) => {
      const { name: serviceName } = await tools.given.text();
      const proxyId = tools.freshProxyId();
      const headerTemplates = Object.fromEntries(SECRET_NAMES.map((name) => [name, 'Bearer ${TOKEN}']));
      const put = {
        op: 'proxies.put',
        proxyId,
        serviceName,
        upstreamUrl: 'https://api.example/',
        headerTemplates,
      };
      expectOk(await tools.storage(put));
      const answer = await tools.storage({ batch: [{ op: 'proxies.get', proxyId }] });
      const returned = resultsOf(answer, 1)[0]?.['headerTemplates'];
      const names = isMembers(returned) ? Object.keys(returned).map((name) => name.toLowerCase()) : [];
      expectThat(
        SECRET_NAMES.every((name) => names.includes(name.toLowerCase())),
        answer,
        'all of the templates',
      );
    },
  },
  {
    id: 'storage.no-secrets',
    title: 'no answer reveals a secret of a record, whatever is asked about it',
    requirements: ['STO-03'],
    claims: CLAIMS,
    run: async (tools) => {
      const canaries: string[] = [];
      const canary = (): string => {
        canaries.push(`canary-${randomToken()}`);
        return canaries.at(-1) ?? '';
      };
      const provider = { tokenUrl: 'https://provider.example/token', clientId: 'conformance' };
      const refreshToken = canary();
      const records: readonly object[] = [
        { tokenType: 'PlainText', value: canary() },
        { tokenType: 'RawCredential', value: canary(), delivery: 'proxy-only' },
        {
          tokenType: 'JWT',
          accessToken: canary(),
          refreshToken,
          shareRefreshToken: true,
          ...((await takesProviders(tools)) && { provider: { ...provider, clientSecret: canary() } }),
        },
        {
          tokenType: 'JWT',
          accessToken: canary(),
          refreshToken: canary(),
          expiryTime: '2199-01-01T00:00:00Z',
        },
      ];
      const names: string[] = [];
      for (const body of records.filter(tools.takes)) names.push(await tools.given.record(body));
      const proxyId = await tools.given.proxy({
        serviceName: names[0] ?? '',
        upstreamUrl: 'https://api.example/',
        headerTemplates: { authorization: 'Bearer ${TOKEN}' },
      });
      for (const serviceName of names) await tools.fetchCredential(tools.ticket('credential', serviceName));
      const batch = [
        ...names.map((serviceName) => ({ op: 'tokens.get', serviceName })),
        ...names.map((serviceName) => ({ op: 'audit.list', serviceName })),
        ...names.map((serviceName) => ({ op: 'tokens.delete', serviceName, ifVersion: 4711 })),
        { op: 'proxies.get', proxyId },
        { op: 'proxies.list', limit: 500 },
        { op: 'audit.list' },
      ];
      const answers = [
        await tools.storage({ batch }),
        await tools.storage({ op: 'tokens.list', limit: 500 }),
      ];
      for (const answer of answers)
        for (const each of canaries)
          expectThat(!reveals(answer, each), answer, 'an answer without a stored secret');
    },
  },
];
