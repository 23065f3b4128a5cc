import type { Check } from '../../check/check.ts';
import { expectOk, expectRefusal, expectThat } from '../../check/expect.ts';
import { jsonObject } from '../../http/read-answer.ts';
import type { Tools } from '../../check/tools.ts';
import { expectDelivered, metadataOf, sameTexts, storedVersion } from '../storage/holdings.ts';
import { STORE_BODY_CHECKS } from './bodies.ts';
import { STORE_SETTING_CHECKS } from './settings.ts';
import { takesProviders } from './takes-providers.ts';

const text = (value: string): object => ({ tokenType: 'PlainText', value });

/** A record with everything that another one could inherit. */
const FULL = {
  tokenType: 'JWT',
  accessToken: 'canary-of-the-former-access-token',
  refreshToken: 'canary-of-the-former-refresh-token',
  shareRefreshToken: true,
  provider: {
    tokenUrl: 'https://provider.example/token',
    clientId: 'former',
    clientSecret: 'canary-of-a-client',
  },
  expiryTime: '2199-01-02T03:04:05.000Z',
  allowedHosts: ['former.example'],
  allowedHeaders: ['x-former'],
};

const { expiryTime, allowedHosts, allowedHeaders } = FULL;
const SETTINGS = { expiryTime, allowedHosts, allowedHeaders };

/** Expects that a refused store left a record as it was. */
async function expectUnchanged(tools: Tools, name: string, value: string, version: number): Promise<void> {
  const { answer, token } = await metadataOf(tools, name);
  expectThat(token['version'] === version, answer, `version ${version} still`);
  await expectDelivered(tools, name, value, 'the record as it was before the refused store');
}

/** Protocol section 5.5, `POST /v1/store`. */
export const STORE_CHECKS: readonly Check[] = [
  {
    id: 'store.answer',
    title: 'a store is answered with 200, the name and the version',
    requirements: ['SAV-01'],
    claims: ['store'],
    run: async (tools) => {
      const name = tools.freshName();
      const answer = await tools.store(name, text('canary'));
      const { serviceName, version } = expectOk(answer);
      expectThat(serviceName === name, answer, `serviceName ${name}`);
      expectThat(Number.isInteger(version) && Number(version) >= 1, answer, 'version, an integer from 1');
    },
  },
  {
    id: 'store.replaces-all',
    title: 'what replaces a record has none of its settings, its expiry, its refresh token or its provider',
    requirements: ['SAV-03'],
    claims: ['store', 'storage'],
    run: async (tools) => {
      const next = { tokenType: 'JWT', accessToken: 'canary-of-the-next' };
      const { provider: _provider, ...simple } = FULL;
      const full = (await takesProviders(tools)) ? FULL : simple;
      for (const [former, body] of [
        [full, next],
        [full, text('canary-of-the-next')],
        [{ ...text('canary-of-the-former'), delivery: 'proxy-only' }, next],
        [
          { ...text('canary-of-the-former'), ...SETTINGS, delivery: 'proxy-only' },
          text('canary-of-the-next'),
        ],
      ] as const) {
        if (!tools.takes(former) || !tools.takes(body)) continue;
        const name = tools.freshName();
        await storedVersion(tools, name, former);
        expectOk(await tools.store(name, body));
        const { answer, token } = await metadataOf(tools, name);
        const { delivery, allowedHosts, allowedHeaders, expiryTime, hasRefreshToken, provider } = token;
        expectThat(delivery === 'any', answer, 'delivery "any", as nothing was said');
        expectThat(sameTexts(allowedHosts, []), answer, 'no allowedHosts');
        expectThat(
          sameTexts(allowedHeaders, ['authorization', 'x-api-key']),
          answer,
          'allowedHeaders as by default',
        );
        expectThat((expiryTime ?? undefined) === undefined, answer, 'no expiryTime');
        expectThat(hasRefreshToken === false, answer, 'hasRefreshToken false');
        expectThat((provider ?? undefined) === undefined, answer, 'no provider');
      }
    },
  },
  {
    id: 'store.replaces-secrets',
    title: 'what replaces a record delivers its own secret, and no refresh token of the former one',
    requirements: ['SAV-03'],
    claims: ['store', 'credential'],
    run: async (tools) => {
      const name = tools.freshName();
      const { provider: _provider, ...former } = FULL;
      await storedVersion(tools, name, former);
      expectOk(await tools.store(name, { tokenType: 'JWT', accessToken: 'canary-of-the-next' }));
      const answer = await tools.fetchCredential(tools.ticket('credential', name));
      const { token } = expectOk(answer) as { token?: Record<string, unknown> };
      expectThat(token?.['accessToken'] === 'canary-of-the-next', answer, 'the next access token');
      expectThat((token['refreshToken'] ?? undefined) === undefined, answer, 'no refresh token');
      expectThat((token['expiryTime'] ?? undefined) === undefined, answer, 'no expiryTime');
    },
  },
  {
    id: 'store.without-ticket',
    title: 'a store without a ticket, or with one that fetches, is refused and stores nothing',
    requirements: ['TIX-12', 'TIX-31'],
    claims: ['store', 'storage'],
    run: async (tools) => {
      const serviceName = tools.freshName();
      const bearers = ['', `Bearer ${tools.ticket('credential', serviceName)}`, 'Bearer x'];
      for (const bearer of bearers) {
        const answer = await tools.send({
          method: 'POST',
          path: '/v1/store',
          headers: [
            ['content-type', 'application/json'],
            ...(bearer === '' ? [] : [['authorization', bearer] as const]),
          ],
          body: JSON.stringify(text('canary')),
        });
        expectRefusal(answer, 'TICKET_INVALID');
      }
      expectRefusal(await tools.storage({ op: 'tokens.get', serviceName }), 'NOT_FOUND');
    },
  },
  {
    id: 'store.single-use',
    title: 'a ticket stores once',
    requirements: ['TIX-32'],
    claims: ['store', 'credential'],
    run: async (tools) => {
      const name = tools.freshName();
      const claims = { jti: 'AAAAAAAAAAA'.repeat(2) + name.slice(-11) };
      expectOk(await tools.store(name, text('canary-of-the-first'), { claims }));
      expectRefusal(await tools.store(name, text('canary-of-the-second'), { claims }), 'TICKET_INVALID');
      await expectDelivered(tools, name, 'canary-of-the-first', 'what was stored with the ticket first');
    },
  },
  {
    id: 'store.refusal-uses-ticket-up',
    title: 'a body that is refused uses its ticket up',
    requirements: ['TIX-33'],
    claims: ['store', 'storage'],
    run: async (tools) => {
      const serviceName = tools.freshName();
      const claims = { jti: 'BBBBBBBBBBB'.repeat(2) + serviceName.slice(-11) };
      expectRefusal(
        await tools.store(serviceName, { tokenType: 'PlainText' }, { claims }),
        'INVALID_REQUEST',
      );
      expectRefusal(await tools.store(serviceName, text('canary'), { claims }), 'TICKET_INVALID');
      expectRefusal(await tools.storage({ op: 'tokens.get', serviceName }), 'NOT_FOUND');
    },
  },
  {
    id: 'store.if-version',
    title: 'a ticket with ifv replaces that version and no other',
    requirements: ['TIX-26'],
    claims: ['store', 'storage', 'credential'],
    run: async (tools) => {
      const name = tools.freshName();
      const first = await storedVersion(tools, name, text('canary-1'));
      for (const ifv of [first + 1, 0]) {
        const answer = await tools.store(name, text('canary-of-a-conflict'), { claims: { ifv } });
        expectRefusal(answer, 'VERSION_CONFLICT', `ifv ${ifv}, where ${first} is stored`);
      }
      await expectUnchanged(tools, name, 'canary-1', first);
      expectOk(await tools.store(name, text('canary-2'), { claims: { ifv: first } }));
      const late = await tools.store(name, text('canary-3'), { claims: { ifv: first } });
      expectRefusal(late, 'VERSION_CONFLICT', 'ifv of a version that was replaced');
      await expectDelivered(tools, name, 'canary-2', 'what was stored with the right ifv');
    },
  },
  {
    id: 'store.if-none',
    title: 'a ticket with ifv 0 stores where there is no record, one with another ifv does not',
    requirements: ['TIX-26'],
    claims: ['store', 'storage'],
    run: async (tools) => {
      const serviceName = tools.freshName();
      const early = await tools.store(serviceName, text('canary'), { claims: { ifv: 1 } });
      expectRefusal(early, 'VERSION_CONFLICT', 'ifv 1, where nothing is stored');
      expectRefusal(await tools.storage({ op: 'tokens.get', serviceName }), 'NOT_FOUND');
      expectOk(await tools.store(serviceName, text('canary'), { claims: { ifv: 0 } }));
      expectOk(await tools.storage({ op: 'tokens.delete', serviceName }));
      const gone = await tools.store(serviceName, text('canary'), { claims: { ifv: 1 } });
      expectRefusal(gone, 'VERSION_CONFLICT', 'ifv of a record that was deleted');
      expectOk(await tools.store(serviceName, text('canary'), { claims: { ifv: 0 } }));
    },
  },
  {
    id: 'store.if-version-at-once',
    title: 'of several stores at once that would replace one version, one does',
    requirements: ['TIX-26'],
    claims: ['store', 'credential'],
    run: async (tools) => {
      const name = tools.freshName();
      const ifv = await storedVersion(tools, name, text('canary-before'));
      const values = Array.from({ length: 5 }, (_, index) => `canary-at-once-${index}`);
      const answers = await Promise.all(
        values.map((value) => tools.store(name, text(value), { claims: { ifv } })),
      );
      const stored = answers.findIndex(({ status }) => status === 200);
      for (const [index, answer] of answers.entries()) {
        if (index === stored) expectOk(answer);
        else expectRefusal(answer, 'VERSION_CONFLICT', 'all stores but one');
      }
      await expectDelivered(
        tools,
        name,
        values[stored] ?? '',
        'what was stored by the one that was answered 200',
      );
    },
  },
  {
    id: 'store.if-version-form',
    title: 'a ticket whose ifv is no integer names no version, and stores nothing',
    requirements: ['TIX-26'],
    claims: ['store', 'storage'],
    run: async (tools) => {
      const serviceName = tools.freshName();
      for (const ifv of ['0', 0.5, true, [0]]) {
        const answer = await tools.store(serviceName, text('canary'), { claims: { ifv } });
        const { code } = jsonObject(answer) ?? {};
        expectThat(
          (answer.status === 401 && code === 'TICKET_INVALID') ||
            (answer.status === 409 && code === 'VERSION_CONFLICT'),
          answer,
          `401 TICKET_INVALID or 409 VERSION_CONFLICT for ifv ${JSON.stringify(ifv)}`,
        );
      }
      expectRefusal(await tools.storage({ op: 'tokens.get', serviceName }), 'NOT_FOUND');
    },
  },
  ...STORE_BODY_CHECKS,
  ...STORE_SETTING_CHECKS,
];
