import type { Check } from '../../check/check.ts';
import { expectOk, expectRefusal, expectThat } from '../../check/expect.ts';
import type { Answer } from '../../http/client.ts';
import { header } from '../../http/read-answer.ts';
import { answerJson } from '../../provider/provider.ts';
import type { Tools } from '../../check/tools.ts';
import { setUpProxy, calledOnce, expectUncalled, storeTextOf, received } from '../../upstream/proxy-setup.ts';
import { givenRefreshable } from '../refresh/refreshable.ts';

const PIN = '482913';
const PERMITTED = { allowShortSecret: true };
const HOSTS = { allowedHosts: ['api.example.com'] };
/** `length` characters of an alphabet, each in turn. */
const cycle = (alphabet: string, length: number): string =>
  alphabet.repeat(Math.ceil(length / alphabet.length)).slice(0, length);
const basic = (user: string, password: string): string =>
  Buffer.from(`${user}:${password}`).toString('base64');

const SHORT: ReadonlyArray<readonly [what: string, secret: string]> = [
  ['a code', PIN],
  ['15 characters', 'aB3$eF6&iJ9(mN2'],
  ['24 digits', cycle('0123456789', 24)],
  ['19 hexadecimal digits', cycle('0123456789abcdef', 19)],
  ['17 letters of one case', cycle('ABCDEFGHIJKLMNOPQRST', 17)],
  ['one character, a hundred times', 'a'.repeat(100)],
  ['28 of seven characters', cycle('aB3$eF6', 28)],
  ['79 of two characters', cycle('01', 79)],
  ['a short password in Basic credentials', basic('administrator@example.com', 'hunter2')],
  ['a short user name alone in Basic credentials', basic('administrator', '')],
  ['two characters behind a long user name', basic('aB3xeF6yiJ9zmN2w', 'xy')],
];
const LONG: ReadonlyArray<readonly [what: string, secret: string]> = [
  ['16 characters', 'aB3$eF6&iJ9(mN2*'],
  ['25 digits', cycle('0123456789', 25)],
  ['20 hexadecimal digits', cycle('0123456789abcdef', 20)],
  ['18 letters of one case', cycle('ABCDEFGHIJKLMNOPQRST', 18)],
  ['80 of two characters', cycle('01', 80)],
  ['29 of seven characters', cycle('aB3$eF6', 29)],
  ['a long password in Basic credentials', basic('me', 'aB3xeF6yiJ9zmN2w')],
  ['an API key as the user name of Basic credentials', basic('aB3xeF6yiJ9zmN2w', '')],
  ['what holds a control character before the colon', basic('\u0001administrator', 'hunter2')],
  ['what holds a control character behind the colon', basic('administrator', 'hunter2\u0001')],
  ['an API key before one character in Basic credentials', basic('aB3xeF6yiJ9zmN2w', 'x')],
];

const BESIDE_SHORT = [
  ...['allow', 'content-encoding', 'content-language', 'content-range', 'content-type', 'location'],
  ...['mcp-protocol-version', 'mcp-session-id', 'retry-after'],
];
const NOT_BESIDE_SHORT = [
  ...['x-echo', 'etag', 'link', 'x-request-id'],
  // What only resembles one of the names above.
  ...['x-allow', 'allow-x', 'content-types', 'content-location', 'mcp-session-ids'],
];

/** Names of an upstream's headers that come back, where all of them hold one text. */
async function namesBack(
  tools: Tools,
  text: string,
): Promise<{ readonly answer: Answer; readonly back: readonly string[] }> {
  const names = [...BESIDE_SHORT, ...NOT_BESIDE_SHORT];
  const proxy = await setUpProxy(tools, {
    record: await storeTextOf(tools, PIN, PERMITTED),
    answer: (response) =>
      response
        .writeHead(
          200,
          names.flatMap((name) => [name, text]),
        )
        .end('{}'),
  });
  const answer = await proxy.call();
  calledOnce(proxy, answer);
  return { answer, back: names.filter((name) => header(answer, name) !== undefined) };
}

/** Protocol section 5.5, "Short secrets", and what section 5.6 asks where one is injected. */
export const SHORT_SECRET_CHECKS: readonly Check[] = [
  {
    id: 'store.short-secret',
    title: 'a secret that cannot hold 80 bits is refused beside allowedHosts, and nothing is stored',
    requirements: ['SAV-40', 'SAV-41'],
    claims: ['store', 'storage'],
    run: async (tools) => {
      const serviceName = tools.freshName();
      for (const [what, value] of SHORT)
        for (const more of [{}, { allowShortSecret: false }]) {
          const body = { tokenType: 'PlainText', value, ...HOSTS, ...more };
          expectRefusal(await tools.store(serviceName, body), 'INVALID_REQUEST', what);
        }
      const jwt = { tokenType: 'JWT', accessToken: PIN, ...HOSTS };
      expectRefusal(
        await tools.store(serviceName, JSON.stringify(jwt)),
        'INVALID_REQUEST',
        'a short access token',
      );
      for (const allowShortSecret of ['true', 1, {}]) {
        const body = { tokenType: 'PlainText', value: PIN, ...HOSTS, allowShortSecret };
        const what = `allowShortSecret ${JSON.stringify(allowShortSecret)}`;
        expectRefusal(await tools.store(serviceName, body), 'INVALID_REQUEST', what);
      }
      expectRefusal(await tools.storage({ op: 'tokens.get', serviceName }), 'NOT_FOUND');
    },
  },
  {
    id: 'store.short-secret-permitted',
    title:
      'a short secret is accepted with allowShortSecret or without allowedHosts, and a longer one anyway',
    requirements: ['SAV-40'],
    claims: ['store'],
    run: async (tools) => {
      const name = tools.freshName();
      for (const [, value] of SHORT) {
        expectOk(await tools.store(name, { tokenType: 'PlainText', value, ...HOSTS, ...PERMITTED }));
        expectOk(await tools.store(name, { tokenType: 'PlainText', value }));
        expectOk(await tools.store(name, { tokenType: 'PlainText', value, allowedHosts: [] }));
      }
      for (const [, value] of LONG)
        expectOk(await tools.store(name, { tokenType: 'PlainText', value, ...HOSTS }));
      expectOk(await tools.store(name, { tokenType: 'PlainText', value: '', ...HOSTS }));
    },
  },
  {
    id: 'store.short-code',
    title: 'a seed of one-time codes is refused beside allowedHosts, unless the body says allowShortSecret',
    requirements: ['SAV-40'],
    claims: ['store', 'totp'],
    run: async (tools) => {
      const name = tools.freshName();
      const seed = { tokenType: 'TOTP', secret: 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ' };
      const refused = await tools.store(name, { ...seed, ...HOSTS });
      expectRefusal(refused, 'INVALID_REQUEST', 'a seed beside allowedHosts');
      expectOk(await tools.store(name, { ...seed, ...HOSTS, ...PERMITTED }));
      expectOk(await tools.store(name, seed));
    },
  },
  {
    id: 'injection.short-secret',
    title: 'a refresh that gives a short token makes a 422 without a call, unless its owner permitted it',
    requirements: ['PRX-47', 'PRX-19'],
    claims: ['proxy', 'store', 'storage', 'refresh-notify'],
    run: async (tools) => {
      const { allowedHost } = await tools.given.upstream();
      const beside = { allowedHosts: [allowedHost] };
      const { name, provider, accessToken } = await givenRefreshable(tools, { beside });
      provider.answerWith(answerJson(200, { access_token: PIN, token_type: 'Bearer', expires_in: 3600 }));
      const proxy = await setUpProxy(tools, { record: { name, value: accessToken } });
      expectUncalled(
        proxy,
        await proxy.call(),
        'NOT_INJECTABLE',
        'a token that was refreshed to a short one',
      );
    },
  },
  {
    id: 'injection.short-permitted',
    title: 'a short secret is injected where its owner permitted that',
    requirements: ['PRX-47'],
    claims: ['proxy'],
    run: async (tools) => {
      const proxy = await setUpProxy(tools, { record: await storeTextOf(tools, PIN, PERMITTED) });
      const answer = await proxy.call();
      const [sent] = received(calledOnce(proxy, answer), 'authorization');
      expectThat(sent === `Bearer ${PIN}`, answer, 'the secret at the upstream');
    },
  },
  {
    id: 'proxy.short-secret-echo',
    title: 'beside a short secret the same headers come back, whatever they hold',
    requirements: ['PRX-48'],
    claims: ['proxy'],
    run: async (tools) => {
      for (const text of [PIN, `a ${PIN} b`, Buffer.from(PIN).toString('base64'), '482914', 'another text']) {
        const { answer, back } = await namesBack(tools, text);
        const missing = BESIDE_SHORT.filter((name) => !back.includes(name));
        const strays = NOT_BESIDE_SHORT.filter((name) => back.includes(name));
        const what = `the headers that hold ${JSON.stringify(text)}`;
        expectThat(missing.length === 0, answer, `${missing.join(', ')} of ${what}`);
        expectThat(strays.length === 0, answer, `no ${strays.join(', ')} of ${what}`);
      }
    },
  },
  {
    id: 'proxy.part-of-secret',
    title: 'a header that holds a part of the credential comes back, so that it is not guessed part by part',
    requirements: ['PRX-49'],
    claims: ['proxy'],
    run: async (tools) => {
      const secret = 'aB3-eF6.iJ9_mN2~canary0189';
      const parts = [4, 8, 16, secret.length - 3].flatMap((length) => [
        secret.slice(0, length),
        secret.slice(-length),
      ]);
      const texts = parts.flatMap((part) => [part, Buffer.from(part).toString('base64'), `Bearer ${part}`]);
      const pairs = texts.map((text, at) => [`x-part-${at}`, text] as const);
      const proxy = await setUpProxy(tools, {
        record: await storeTextOf(tools, secret),
        answer: (response) => response.writeHead(200, pairs.flat()).end('{}'),
      });
      const answer = await proxy.call();
      calledOnce(proxy, answer);
      const [, gone] = pairs.find(([name]) => header(answer, name) === undefined) ?? [];
      expectThat(gone === undefined, answer, `a header with ${JSON.stringify(gone)}, a part of the secret`);
    },
  },
];
