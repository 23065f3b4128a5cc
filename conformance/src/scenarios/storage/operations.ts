import { parseTime } from '@svault/shared';
import type { Check } from '../../check/check.ts';
import { expectOk, expectRefusal, expectThat } from '../../check/expect.ts';
import type { Answer } from '../../http/client.ts';
import { isMembers, metadataOf, sameTexts, storedVersion } from './holdings.ts';
import { STORAGE_BATCH_CHECKS } from './batches.ts';
import { STORAGE_LIST_CHECKS } from './lists.ts';
import { STORAGE_SECRET_CHECKS } from './secrets.ts';
import { takesProviders } from '../store/takes-providers.ts';

const CLAIMS = ['storage'] as const;
const text = (value: string): object => ({ tokenType: 'PlainText', value });
const isTime = (value: unknown): boolean => typeof value === 'string' && parseTime(value) !== undefined;
const sameTime = (value: unknown, wanted: string): boolean =>
  typeof value === 'string' && parseTime(value) === parseTime(wanted);

function expectMembers(answer: Answer, token: object, wanted: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(wanted))
    expectThat(
      (token as Record<string, unknown>)[name] === value,
      answer,
      `${name} ${JSON.stringify(value)}`,
    );
}

/** Protocol section 5.3. */
export const STORAGE_CHECKS: readonly Check[] = [
  {
    id: 'storage.signed',
    title: 'no operation is served without a signature, nor is a batch',
    requirements: ['STO-01'],
    claims: CLAIMS,
    run: async (tools) => {
      const proxyId = tools.freshProxyId();
      const config = { serviceName: 'x', upstreamUrl: 'https://api.example/', headerTemplates: {} };
      for (const operation of [
        { op: 'tokens.list', limit: 1 },
        { op: 'tokens.get', serviceName: 'x' },
        { op: 'tokens.delete', serviceName: tools.freshName() },
        { op: 'proxies.put', proxyId, ...config },
        { op: 'proxies.list', limit: 1 },
        { op: 'audit.append', events: [] },
        { op: 'audit.list', limit: 1 },
        { batch: [{ op: 'audit.list', limit: 1 }] },
      ]) {
        const answer = await tools.send({
          method: 'POST',
          path: '/v1/storage',
          headers: [['content-type', 'application/json']],
          body: JSON.stringify(operation),
        });
        expectRefusal(answer, 'SIGNATURE_INVALID', JSON.stringify(operation));
      }
    },
  },
  {
    id: 'storage.metadata',
    title: 'tokens.get returns every setting as it was stored, and the provider without its secret',
    requirements: ['STO-02', 'STO-03', 'CRE-17'],
    claims: CLAIMS,
    run: async (tools) => {
      const settings = {
        expiryTime: '2199-01-02T03:04:05.678Z',
        allowedHosts: ['api.example', 'api.example:8443'],
        allowedHeaders: ['x-key', 'authorization'],
      };
      const provider = {
        tokenUrl: 'https://provider.example/token',
        clientId: 'conformance',
        clientSecret: 'canary-of-a-client-secret',
      };
      const refreshToken = 'canary-of-a-refresh-token';
      const jwt = { tokenType: 'JWT', accessToken: 'canary-of-an-access-token', refreshToken };
      const refreshable = (await takesProviders(tools)) ? { provider } : {};
      const name = await tools.given.record({ ...jwt, ...settings, delivery: 'proxy-only', ...refreshable });
      const { answer, token } = await metadataOf(tools, name);
      const wanted = { serviceName: name, tokenType: 'JWT', delivery: 'proxy-only' };
      expectMembers(answer, token, { ...wanted, hasRefreshToken: true, empty: false });
      expectThat(
        sameTime(token['expiryTime'], settings.expiryTime),
        answer,
        `expiryTime ${settings.expiryTime}`,
      );
      expectThat(sameTexts(token['allowedHosts'], settings.allowedHosts), answer, 'allowedHosts as stored');
      expectThat(
        sameTexts(token['allowedHeaders'], settings.allowedHeaders),
        answer,
        'allowedHeaders as stored',
      );
      if (!('provider' in refreshable)) return;
      const returned = token['provider'];
      expectThat(isMembers(returned), answer, 'provider');
      const { tokenUrl, clientId } = provider;
      expectMembers(answer, returned, {
        tokenUrl,
        clientId,
        authMethod: 'client_secret_basic',
        mediated: false,
      });
      expectThat((returned['clientSecret'] ?? undefined) === undefined, answer, 'no client secret');
    },
  },
  {
    id: 'storage.metadata-of-little',
    title: 'tokens.get returns the defaults of settings that were left out',
    requirements: ['STO-02', 'SAV-08', 'SAV-18'],
    claims: CLAIMS,
    run: async (tools) => {
      const { name } = await tools.given.text();
      const { answer, token } = await metadataOf(tools, name);
      const wanted = { serviceName: name, tokenType: 'PlainText', delivery: 'any' };
      expectMembers(answer, token, { ...wanted, hasRefreshToken: false, empty: false });
      expectThat(sameTexts(token['allowedHosts'], []), answer, 'no allowedHosts');
      expectThat(
        sameTexts(token['allowedHeaders'], ['authorization', 'x-api-key']),
        answer,
        'allowedHeaders authorization and x-api-key',
      );
      for (const absent of ['expiryTime', 'provider'])
        expectThat((token[absent] ?? undefined) === undefined, answer, `no ${absent}`);
      expectThat(token['reauthNeeded'] !== true, answer, 'not reauthNeeded');
      expectThat(
        isTime(token['createdAt']) && isTime(token['updatedAt']),
        answer,
        'createdAt and updatedAt, times',
      );
    },
  },
  {
    id: 'storage.unknown-token',
    title: 'tokens.get of a name that nothing is stored under answers 404',
    requirements: ['STO-02'],
    claims: CLAIMS,
    run: async (tools) => {
      const { name } = await tools.given.text();
      for (const serviceName of [tools.freshName(), name.slice(0, -1), `${name}.`])
        expectRefusal(await tools.storage({ op: 'tokens.get', serviceName }), 'NOT_FOUND');
    },
  },
  {
    id: 'storage.delete',
    title: 'tokens.delete removes a record, says so, and may be repeated',
    requirements: ['STO-02', 'STO-20'],
    claims: CLAIMS,
    run: async (tools) => {
      const { name: serviceName } = await tools.given.text();
      const { name: other } = await tools.given.text();
      for (const deleted of [true, false]) {
        const answer = await tools.storage({ op: 'tokens.delete', serviceName });
        expectThat(expectOk(answer)['deleted'] === deleted, answer, `deleted ${deleted}`);
      }
      expectRefusal(await tools.storage({ op: 'tokens.get', serviceName }), 'NOT_FOUND');
      await metadataOf(tools, other);
    },
  },
  {
    id: 'storage.deleted-is-gone',
    title: 'a deleted record is not delivered any more',
    requirements: ['STO-02', 'CRE-08'],
    claims: ['storage', 'credential'],
    run: async (tools) => {
      const { name: serviceName } = await tools.given.text();
      expectOk(await tools.storage({ op: 'tokens.delete', serviceName }));
      const fetched = await tools.fetchCredential(tools.ticket('credential', serviceName));
      expectRefusal(fetched, 'NOT_FOUND');
    },
  },
  {
    id: 'storage.delete-if-version',
    title: 'tokens.delete with ifVersion removes that version and no other',
    requirements: ['STO-17'],
    claims: CLAIMS,
    run: async (tools) => {
      const serviceName = tools.freshName();
      await storedVersion(tools, serviceName, text('canary-1'));
      const live = await storedVersion(tools, serviceName, text('canary-2'));
      for (const ifVersion of [live + 1, live - 1, 0]) {
        const answer = await tools.storage({ op: 'tokens.delete', serviceName, ifVersion });
        expectRefusal(answer, 'VERSION_CONFLICT', `ifVersion ${ifVersion}, where ${live} is stored`);
      }
      await metadataOf(tools, serviceName);
      const answer = await tools.storage({ op: 'tokens.delete', serviceName, ifVersion: live });
      expectThat(expectOk(answer)['deleted'] === true, answer, 'deleted true');
    },
  },
  {
    id: 'storage.version-starts',
    title: 'the first version of a record is 1',
    requirements: ['STO-13'],
    claims: CLAIMS,
    run: async (tools) => {
      const name = tools.freshName();
      const answer = await tools.store(name, text('canary'));
      expectThat(expectOk(answer)['version'] === 1, answer, 'version 1');
      const got = await metadataOf(tools, name);
      expectThat(got.token['version'] === 1, got.answer, 'version 1');
    },
  },
  {
    id: 'storage.version-grows',
    title: 'a version grows with each store, also where the same is stored, and tokens.get returns it',
    requirements: ['STO-14'],
    claims: CLAIMS,
    run: async (tools) => {
      const name = tools.freshName();
      let last = 0;
      for (const value of ['canary-1', 'canary-2', 'canary-3']) {
        const version = await storedVersion(tools, name, text(value));
        const { answer, token } = await metadataOf(tools, name);
        expectThat(
          version > last && token['version'] === version,
          answer,
          `version ${version}, above ${last}`,
        );
        last = version;
      }
    },
  },
  {
    id: 'storage.version-never-again',
    title: 'a version does not come again after its record was deleted',
    requirements: ['STO-15'],
    claims: CLAIMS,
    run: async (tools) => {
      const serviceName = tools.freshName();
      await storedVersion(tools, serviceName, text('canary-1'));
      const last = await storedVersion(tools, serviceName, text('canary-2'));
      expectOk(await tools.storage({ op: 'tokens.delete', serviceName }));
      const answer = await tools.store(serviceName, text('canary-3'));
      const { version } = expectOk(answer);
      expectThat(typeof version === 'number' && version > last, answer, `a version above ${last}`);
    },
  },
  {
    id: 'storage.created-at',
    title: 'createdAt stays when a record is replaced',
    requirements: ['STO-16'],
    claims: CLAIMS,
    run: async (tools) => {
      const name = tools.freshName();
      await storedVersion(tools, name, text('canary-1'));
      const first = await metadataOf(tools, name);
      const { createdAt } = first.token;
      expectThat(isTime(createdAt), first.answer, 'createdAt, a time');
      const jwt = { tokenType: 'JWT', accessToken: 'canary-2' };
      await storedVersion(tools, name, tools.takes(jwt) ? jwt : text('canary-2'));
      const { answer, token } = await metadataOf(tools, name);
      expectThat(
        sameTime(token['createdAt'], String(createdAt)),
        answer,
        `createdAt ${String(createdAt)} still`,
      );
      expectThat(
        isTime(token['updatedAt']) &&
          Number(parseTime(String(token['updatedAt']))) >= Number(parseTime(String(createdAt))),
        answer,
        'updatedAt, not before createdAt',
      );
    },
  },
  ...STORAGE_LIST_CHECKS,
  ...STORAGE_BATCH_CHECKS,
  ...STORAGE_SECRET_CHECKS,
];
