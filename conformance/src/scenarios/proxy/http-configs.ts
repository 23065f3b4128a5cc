import type { Check } from '../../check/check.ts';
import { eachVariant } from '../../check/each-variant.ts';
import { expectOk, expectRefusal, expectThat } from '../../check/expect.ts';
import type { Tools } from '../../check/tools.ts';
import type { Answer } from '../../http/client.ts';
import { metadataOf } from '../refresh/refreshable.ts';

const CLAIMS = ['storage', 'http-proxy'] as const;
/** Members that only a configuration of an HTTP API has. */
const OF_HTTP = ['kind', 'queryTemplates', 'redirects'] as const;

type Members = Readonly<Record<string, unknown>>;

const QUERY = { key: '${TOKEN}', version: '2' };
const HTTP = { kind: 'http', queryTemplates: QUERY, redirects: 'follow-without-credential' };

/** A configuration with these members and a new id, for an existing record. */
async function newConfig(tools: Tools, members: Members): Promise<Members> {
  const { name: serviceName } = await tools.given.text();
  const upstreamUrl = 'https://api.example/v1';
  const headerTemplates = { authorization: 'Basic ${BASIC:x-access-token}' };
  const proxyId = tools.freshProxyId();
  return { op: 'proxies.put', proxyId, serviceName, upstreamUrl, headerTemplates, ...members };
}

function expectMembers(answer: Answer, returned: Members, put: Members): void {
  for (const name of [...OF_HTTP, 'headerTemplates', 'upstreamUrl']) {
    const expected = JSON.stringify(put[name]);
    expectThat(JSON.stringify(returned[name]) === expected, answer, `${name} ${expected ?? 'absent'}`);
  }
}

/** Protocol section 5.8: stored configurations of HTTP APIs, and `allowedQuery`. */
export const HTTP_CONFIG_CHECKS: readonly Check[] = [
  {
    id: 'http-proxy.config',
    title:
      'kind, query templates and redirects are returned as they were put, and left out where they were not',
    requirements: ['HTP-02'],
    claims: CLAIMS,
    run: async (tools) => {
      for (const members of [HTTP, { kind: 'http' }, { kind: 'http', queryTemplates: QUERY }, {}]) {
        const put = await newConfig(tools, members);
        const answer = await tools.storage(put);
        expectMembers(answer, expectOk(answer), put);
        const { proxyId } = put;
        const got = await tools.storage({ op: 'proxies.get', proxyId });
        expectMembers(got, expectOk(got), put);
      }
    },
  },
  {
    id: 'http-proxy.config-replaced',
    title: 'a configuration with another kind, other query templates or redirects has a higher version',
    requirements: ['HTP-02', 'STO-14'],
    claims: CLAIMS,
    run: async (tools) => {
      const put = await newConfig(tools, { kind: 'http' });
      let last = Number(expectOk(await tools.storage(put))['version']);
      for (const change of [HTTP, { ...HTTP, queryTemplates: { key: 'x' } }, { kind: 'http' }]) {
        const answer = await tools.storage({ ...put, ...change });
        const returned = expectOk(answer);
        expectMembers(answer, returned, { ...put, ...change });
        expectThat(Number(returned['version']) > last, answer, `a version above ${last}`);
        last = Number(returned['version']);
      }
    },
  },
  {
    id: 'http-proxy.bad-config',
    title:
      'another kind, query templates or redirects of MCP, too many of them and a query in the base are refused',
    requirements: ['HTP-03', 'HTP-04'],
    claims: CLAIMS,
    run: async (tools) => {
      const many = Object.fromEntries(Array.from({ length: 6 }, (_, at) => [`k${at}`, 'v']));
      const variants: Readonly<Record<string, Members>> = {
        'another kind': { kind: 'ftp' },
        'a kind in capitals': { kind: 'HTTP' },
        'query templates of MCP': { queryTemplates: QUERY },
        'redirects of MCP': { redirects: 'follow-without-credential' },
        'other redirects': { kind: 'http', redirects: 'follow' },
        'redirects that are true': { kind: 'http', redirects: true },
        'no query templates': { kind: 'http', queryTemplates: {} },
        'six query templates': { kind: 'http', queryTemplates: many },
        'a list of query templates': { kind: 'http', queryTemplates: ['key'] },
        'a text of query templates': { kind: 'http', queryTemplates: 'key' },
        'a query template that is no text': { kind: 'http', queryTemplates: { key: 1 } },
        'a query template without a name': { kind: 'http', queryTemplates: { '': '${TOKEN}' } },
        'a name with a space': { kind: 'http', queryTemplates: { 'api key': '${TOKEN}' } },
        'one good name of two': { kind: 'http', queryTemplates: { key: '${TOKEN}', 'api key': '2' } },
        'a long query template': { kind: 'http', queryTemplates: { key: 'x'.repeat(513) } },
        'a query template with a line end': { kind: 'http', queryTemplates: { key: 'a\nb' } },
        'a query in the base': { kind: 'http', upstreamUrl: 'https://api.example/v1?a=b' },
        'an empty query in the base': { kind: 'http', upstreamUrl: 'https://api.example/v1?' },
      };
      await eachVariant(variants, async (members) =>
        expectRefusal(await tools.storage(await newConfig(tools, members)), 'INVALID_REQUEST'),
      );
      const { k5: _, ...five } = many;
      const bounds = { k: '', ['k'.repeat(128)]: 'x'.repeat(512) };
      for (const queryTemplates of [five, bounds])
        expectOk(await tools.storage(await newConfig(tools, { kind: 'http', queryTemplates })));
    },
  },
  {
    id: 'http-proxy.allowed-query',
    title: 'allowedQuery is listed with the metadata as it was stored, and is empty or absent otherwise',
    requirements: ['HTP-05'],
    claims: [...CLAIMS, 'store'],
    run: async (tools) => {
      for (const allowedQuery of [['key', 'Key', 'api.key-2_~', 'k', 'k'.repeat(128)], undefined]) {
        const { name } = await tools.given.text(allowedQuery && { allowedQuery });
        const { answer, token } = await metadataOf(tools, name);
        const listed = JSON.stringify(token['allowedQuery'] ?? []);
        const expected = JSON.stringify(allowedQuery ?? []);
        expectThat(listed === expected, answer, `allowedQuery ${expected}`);
      }
    },
  },
  {
    id: 'http-proxy.bad-allowed-query',
    title: 'an allowedQuery that is not a list of one to five names is refused',
    requirements: ['HTP-05'],
    claims: [...CLAIMS, 'store'],
    run: async (tools) => {
      const body = { tokenType: 'PlainText', value: 'canary-of-a-refused-store' };
      for (const allowedQuery of [
        ...['key', { key: true }, [], [1], [''], ['x'.repeat(129)], [['key']], ['a b'], ['a&b'], ['a=b']],
        ['a', 'b', 'c', 'd', 'e', 'f'],
        ['a', 'a b'],
      ])
        expectRefusal(
          await tools.store(tools.freshName(), { ...body, allowedQuery }),
          'INVALID_REQUEST',
          JSON.stringify(allowedQuery),
        );
    },
  },
];
