import type { Check } from '../../check/check.ts';
import { expectOk, expectRefusal, expectThat } from '../../check/expect.ts';
import type { Answer } from '../../http/client.ts';
import type { Tools } from '../../check/tools.ts';
import { allOf, isMembers, pageOf } from './holdings.ts';
import { PROXY_CONFIG_FORM_CHECKS } from './proxy-config-forms.ts';
import { resultsOf } from './batches.ts';
import { expectLimits, expectPaged } from './lists.ts';

const CLAIMS = ['storage'] as const;

/** What `proxies.put` sends. */
interface NewConfig {
  readonly op: 'proxies.put';
  readonly proxyId: string;
  readonly serviceName: string;
  readonly upstreamUrl: string;
  readonly headerTemplates: Readonly<Record<string, string>>;
}

/** A configuration that nothing is wrong with, under an id of its own, for a record that is there. */
async function newConfig(tools: Tools): Promise<NewConfig> {
  const { name: serviceName } = await tools.given.text();
  const upstreamUrl = 'https://api.example/v1?of=conformance';
  const headerTemplates = { authorization: 'Bearer ${TOKEN}', 'x-conformance': 'yes' };
  return { op: 'proxies.put', proxyId: tools.freshProxyId(), serviceName, upstreamUrl, headerTemplates };
}

/** Expects a configuration as it was put. @returns its version */
function expectConfig(answer: Answer, returned: Readonly<Record<string, unknown>>, put: NewConfig): number {
  const { proxyId, serviceName, upstreamUrl, headerTemplates, version } = returned;
  expectThat(proxyId === put.proxyId, answer, `proxyId ${put.proxyId}`);
  expectThat(serviceName === put.serviceName, answer, `serviceName ${put.serviceName}`);
  expectThat(
    typeof upstreamUrl === 'string' &&
      URL.canParse(upstreamUrl) &&
      new URL(upstreamUrl).href === new URL(put.upstreamUrl).href,
    answer,
    `upstreamUrl ${put.upstreamUrl}`,
  );
  const entries = isMembers(headerTemplates) ? lowerCase(headerTemplates) : undefined;
  expectThat(
    JSON.stringify(entries) === JSON.stringify(lowerCase(put.headerTemplates)),
    answer,
    `headerTemplates ${JSON.stringify(put.headerTemplates)}`,
  );
  expectThat(Number.isInteger(version), answer, 'version, an integer');
  return Number(version);
}

const lowerCase = (templates: Readonly<Record<string, unknown>>): readonly (readonly [string, unknown])[] =>
  Object.entries(templates)
    .map(([name, value]) => [name.toLowerCase(), value] as const)
    .toSorted(([one], [other]) => (one < other ? -1 : 1));

async function putOk(tools: Tools, put: NewConfig, ifVersion?: number): Promise<number> {
  const answer = await tools.storage(ifVersion === undefined ? put : { ...put, ifVersion });
  return expectConfig(answer, expectOk(answer), put);
}

/** Expects what is stored to be this. @returns its version */
async function stored(tools: Tools, put: NewConfig): Promise<number> {
  const answer = await tools.storage({ op: 'proxies.get', proxyId: put.proxyId });
  return expectConfig(answer, expectOk(answer), put);
}

/** Protocol section 5.3, configurations of proxies. */
export const PROXY_CONFIG_CHECKS: readonly Check[] = [
  {
    id: 'proxy-config.put',
    title:
      'a configuration is returned by proxies.put, proxies.get and proxies.list as it was put, with version 1',
    requirements: ['STO-02', 'STO-13'],
    claims: CLAIMS,
    run: async (tools) => {
      const put = await newConfig(tools);
      const answer = await tools.storage(put);
      expectThat(expectConfig(answer, expectOk(answer), put) === 1, answer, 'version 1');
      const got = await tools.storage({ op: 'proxies.get', proxyId: put.proxyId });
      expectThat(expectConfig(got, expectOk(got), put) === 1, got, 'version 1');
      const list = await allOf(tools, { op: 'proxies.list', limit: 500 });
      const listed = list.items.find(({ proxyId }) => proxyId === put.proxyId);
      expectThat(listed !== undefined, list.answer, `a list in which ${put.proxyId} stands`);
      expectConfig(list.answer, listed, put);
    },
  },
  {
    id: 'proxy-config.unknown',
    title: 'proxies.get of an id that nothing is configured under answers 404',
    requirements: ['STO-02'],
    claims: CLAIMS,
    run: async (tools) =>
      expectRefusal(await tools.storage({ op: 'proxies.get', proxyId: tools.freshProxyId() }), 'NOT_FOUND'),
  },
  {
    id: 'proxy-config.replace',
    title: 'another configuration replaces the former one whole, with a higher version',
    requirements: ['STO-02', 'STO-14'],
    claims: CLAIMS,
    run: async (tools) => {
      const put = await newConfig(tools);
      let last = await putOk(tools, put);
      for (const change of [
        { headerTemplates: { 'x-other': '${TOKEN}' } },
        { upstreamUrl: 'https://other.example/' },
        { serviceName: (await tools.given.text()).name },
      ]) {
        const next = { ...put, ...change };
        expectOk(await tools.storage(next));
        const answer = await tools.storage({ op: 'proxies.get', proxyId: put.proxyId });
        const version = expectConfig(answer, expectOk(answer), next);
        expectThat(version > last, answer, `a version above ${last}`);
        last = version;
      }
    },
  },
  {
    id: 'proxy-config.if-version',
    title: 'a put with ifVersion replaces that version and no other',
    requirements: ['STO-17'],
    claims: CLAIMS,
    run: async (tools) => {
      const put = await newConfig(tools);
      const early = await tools.storage({ ...put, ifVersion: 1 });
      expectRefusal(early, 'VERSION_CONFLICT', 'ifVersion 1, where nothing is stored');
      expectRefusal(await tools.storage({ op: 'proxies.get', proxyId: put.proxyId }), 'NOT_FOUND');
      const first = await putOk(tools, put);
      const next = { ...put, upstreamUrl: 'https://next.example/' };
      const wrong = await tools.storage({ ...next, ifVersion: first + 1 });
      expectRefusal(wrong, 'VERSION_CONFLICT', `ifVersion ${first + 1}, where ${first} is stored`);
      await stored(tools, put);
      await putOk(tools, next, first);
      const late = await tools.storage({ ...put, ifVersion: first });
      expectRefusal(late, 'VERSION_CONFLICT', 'ifVersion of what was replaced');
      await stored(tools, next);
    },
  },
  {
    id: 'proxy-config.if-none',
    title:
      'a put with ifVersion 0 is accepted where there is no configuration, and refused where there is another',
    requirements: ['STO-18'],
    claims: CLAIMS,
    run: async (tools) => {
      const put = await newConfig(tools);
      await putOk(tools, put, 0);
      const other = { ...put, upstreamUrl: 'https://other.example/' };
      expectRefusal(await tools.storage({ ...other, ifVersion: 0 }), 'VERSION_CONFLICT');
      await stored(tools, put);
    },
  },
  {
    id: 'proxy-config.equal-put',
    title: 'a put that changes nothing is answered with what is stored, whatever its ifVersion is',
    requirements: ['STO-19', 'STO-20'],
    claims: CLAIMS,
    run: async (tools) => {
      const put = await newConfig(tools);
      await putOk(tools, put);
      const version = await putOk(tools, { ...put, upstreamUrl: 'https://other.example/' });
      const equal = { ...put, upstreamUrl: 'https://other.example/' };
      for (const ifVersion of [undefined, version, 0, version - 1, version + 1]) {
        const answer = await tools.storage(ifVersion === undefined ? equal : { ...equal, ifVersion });
        const returned = expectConfig(answer, expectOk(answer), equal);
        expectThat(returned === version, answer, `version ${version}, unchanged`);
      }
      const answer = await tools.storage({ op: 'proxies.get', proxyId: put.proxyId });
      expectThat(expectOk(answer)['version'] === version, answer, `version ${version} still`);
    },
  },
  {
    id: 'proxy-config.nearly-equal',
    title:
      'a put that differs in letter case, a letter more or the record alone is a change; the order of headers is none',
    requirements: ['STO-14', 'STO-19'],
    claims: CLAIMS,
    run: async (tools) => {
      const put = { ...(await newConfig(tools)), headerTemplates: { 'x-one': 'a', 'x-two': 'b' } };
      const { name: other } = await tools.given.text();
      let version = await putOk(tools, put);
      const reordered = { ...put, headerTemplates: { 'x-two': 'b', 'x-one': 'a' } };
      const same = await tools.storage(reordered);
      expectThat(expectOk(same)['version'] === version, same, `version ${version}, unchanged`);
      const changes = [
        { upstreamUrl: 'https://api.example/path' },
        { upstreamUrl: 'https://api.example/Path' },
        { upstreamUrl: 'https://api.example/Path/more' },
        { headerTemplates: { 'x-one': 'A', 'x-two': 'b' } },
        { serviceName: other },
      ];
      let next: typeof put = put;
      for (const change of changes) {
        next = { ...next, ...change };
        const answer = await tools.storage(next);
        const changed = Number(expectOk(answer)['version']);
        expectThat(changed > version, answer, `a version above ${version} with ${JSON.stringify(change)}`);
        version = changed;
      }
    },
  },
  {
    id: 'proxy-config.delete',
    title: 'proxies.delete removes a configuration, says so, and may be repeated',
    requirements: ['STO-02', 'STO-20'],
    claims: CLAIMS,
    run: async (tools) => {
      const [put, other] = [await newConfig(tools), await newConfig(tools)];
      await putOk(tools, put);
      await putOk(tools, other);
      for (const deleted of [true, false]) {
        const answer = await tools.storage({ op: 'proxies.delete', proxyId: put.proxyId });
        expectThat(expectOk(answer)['deleted'] === deleted, answer, `deleted ${deleted}`);
      }
      expectRefusal(await tools.storage({ op: 'proxies.get', proxyId: put.proxyId }), 'NOT_FOUND');
      await stored(tools, other);
    },
  },
  {
    id: 'proxy-config.delete-if-version',
    title: 'proxies.delete with ifVersion removes that version and no other',
    requirements: ['STO-17'],
    claims: CLAIMS,
    run: async (tools) => {
      const put = await newConfig(tools);
      const { proxyId } = put;
      const version = await putOk(tools, put);
      for (const ifVersion of [version + 1, 0])
        expectRefusal(
          await tools.storage({ op: 'proxies.delete', proxyId, ifVersion }),
          'VERSION_CONFLICT',
          `ifVersion ${ifVersion}, where ${version} is stored`,
        );
      await stored(tools, put);
      const answer = await tools.storage({ op: 'proxies.delete', proxyId, ifVersion: version });
      expectThat(expectOk(answer)['deleted'] === true, answer, 'deleted true');
    },
  },
  {
    id: 'proxy-config.list-limit',
    title: 'proxies.list takes a limit from 1 to 500 and no other',
    requirements: ['STO-11'],
    claims: CLAIMS,
    run: (tools) => expectLimits(tools, 'proxies.list', 500),
  },
  {
    id: 'proxy-config.list-pages',
    title: 'pages of proxies.list have every configuration once, and a hundred where nothing is said',
    requirements: ['STO-02', 'STO-12'],
    claims: CLAIMS,
    run: async (tools) => {
      const put = await newConfig(tools);
      const puts = Array.from({ length: 101 }, () => ({ ...put, proxyId: tools.freshProxyId() }));
      resultsOf(await tools.storage({ batch: puts.slice(0, 51) }), 51);
      resultsOf(await tools.storage({ batch: puts.slice(51) }), 50);
      const { answer, items, next } = await pageOf(tools, { op: 'proxies.list' });
      expectThat(items.length === 100 && next !== undefined, answer, 'a hundred items and a nextCursor');
      const ids = puts.map(({ proxyId }) => proxyId);
      await expectPaged(tools, 'proxies.list', 'proxyId', ids);
    },
  },
  ...PROXY_CONFIG_FORM_CHECKS,
];
