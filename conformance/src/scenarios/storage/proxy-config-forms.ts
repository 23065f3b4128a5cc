import type { Check } from '../../check/check.ts';
import { expectOk, expectRefusal, expectThat } from '../../check/expect.ts';
import type { Tools } from '../../check/tools.ts';
import { expectError, resultsOf } from './batches.ts';

const CLAIMS = ['storage'] as const;
type Change = Readonly<Record<string, unknown>>;
type Variant = readonly [what: string, change: Change];

async function baseOf(tools: Tools): Promise<Change> {
  const { name: serviceName } = await tools.given.text();
  return { op: 'proxies.put', serviceName, upstreamUrl: 'https://api.example/', headerTemplates: {} };
}

/** Expects that each of these puts is refused, and that none is kept. */
async function expectRefused(tools: Tools, variants: readonly Variant[]): Promise<void> {
  const base = await baseOf(tools);
  const proxyId = tools.freshProxyId();
  for (const [what, change] of variants)
    expectRefusal(await tools.storage({ ...base, proxyId, ...change }), 'INVALID_REQUEST', what);
  expectRefusal(await tools.storage({ op: 'proxies.get', proxyId }), 'NOT_FOUND');
}

async function expectTaken(tools: Tools, variants: readonly Change[]): Promise<void> {
  const base = await baseOf(tools);
  for (const change of variants) {
    const proxyId = tools.freshProxyId();
    expectOk(await tools.storage({ ...base, proxyId, ...change }));
    expectOk(await tools.storage({ op: 'proxies.get', proxyId }));
  }
}

const refuses = (
  id: string,
  title: string,
  requirements: Check['requirements'],
  variants: readonly Variant[],
): Check => ({
  id: `proxy-config.${id}`,
  title,
  requirements,
  claims: CLAIMS,
  run: (tools) => expectRefused(tools, variants),
});

const templates = (count: number): Change => ({
  headerTemplates: Object.fromEntries(Array.from({ length: count }, (_, index) => [`x-${index}`, 'x'])),
});
const template = (name: string, value = 'x'): Change => ({ headerTemplates: { [name]: value } });

/** PRX-14, and a spelling in another letter case of each kind. */
const FORBIDDEN = [
  'host',
  'content-length',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'te',
  'trailer',
  'upgrade',
  'expect',
  'via',
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-of-nobody',
  'proxy-authorization',
  'proxy-of-nobody',
  'sv-ticket',
  'sv-of-nobody',
  'Host',
  'TE',
  'Transfer-Encoding',
  'X-Forwarded-Host',
  'Proxy-Authorization',
  'SV-Ticket',
];

/** Protocol section 5.3, what a configuration may hold. */
export const PROXY_CONFIG_FORM_CHECKS: readonly Check[] = [
  {
    id: 'proxy-config.largest',
    title: 'twenty templates, and one of 4 KiB, are accepted',
    requirements: ['STO-21', 'STO-22'],
    claims: CLAIMS,
    run: (tools) => expectTaken(tools, [templates(20), template('x-long', 'x'.repeat(4096)), templates(0)]),
  },
  refuses(
    'too-many-templates',
    'a put with 21 templates is refused and not kept',
    ['STO-21'],
    [['21 templates', templates(21)]],
  ),
  refuses(
    'too-long-template',
    'a put with a template above 4 KiB is refused and not kept',
    ['STO-22'],
    [
      ['4097 bytes', template('x-long', 'x'.repeat(4097))],
      ['4098 bytes, of half as many letters', template('x-long', 'é'.repeat(2049))],
      ['4097 bytes behind a short one', { headerTemplates: { 'x-short': 'x', 'x-long': 'x'.repeat(4097) } }],
    ],
  ),
  {
    id: 'proxy-config.upstream-urls',
    title: 'upstream URLs with a port, a path and a query are accepted',
    requirements: ['STO-23'],
    claims: CLAIMS,
    run: (tools) =>
      expectTaken(tools, [
        { upstreamUrl: 'https://api.example' },
        { upstreamUrl: 'https://api.example:8443/a/b%20c?d=e&mail=me@there.example' },
      ]),
  },
  refuses(
    'upstream-userinfo',
    'an upstream URL with userinfo is refused and not kept',
    ['STO-23'],
    [
      ['a user and a password', { upstreamUrl: 'https://me:mine@api.example/' }],
      ['a user alone', { upstreamUrl: 'https://me@api.example/' }],
      ['a password alone', { upstreamUrl: 'https://:mine@api.example/' }],
    ],
  ),
  refuses(
    'upstream-fragment',
    'an upstream URL with a fragment is refused and not kept',
    ['STO-23'],
    [
      ['a fragment', { upstreamUrl: 'https://api.example/#part' }],
      ['a fragment behind a query', { upstreamUrl: 'https://api.example/?a=b#part' }],
    ],
  ),
  refuses(
    'missing-member',
    'a put without one of its members is refused and not kept',
    ['STO-02'],
    [
      ['no upstreamUrl', { upstreamUrl: undefined }],
      ['no serviceName', { serviceName: undefined }],
      ['no headerTemplates', { headerTemplates: undefined }],
    ],
  ),
  refuses(
    'header-names',
    'a header whose name is no token is refused and not kept',
    ['PRX-20'],
    [
      ['a space', template('x bad')],
      ['a colon', template('x:bad')],
      ['a line break', template('x\r\nbad')],
      ['an empty name', template('')],
      ['a letter outside ASCII', template('x-é')],
    ],
  ),
  {
    id: 'proxy-config.forbidden-headers',
    title: 'a put with a header that decides how a message travels is refused and not kept',
    requirements: ['STO-24', 'PRX-14'],
    claims: CLAIMS,
    run: async (tools) => {
      const base = await baseOf(tools);
      const puts = FORBIDDEN.map((name) => ({ ...base, proxyId: tools.freshProxyId(), ...template(name) }));
      const gets = puts.map(({ proxyId }) => ({ op: 'proxies.get', proxyId }));
      const answer = await tools.storage({ batch: [...puts, ...gets] });
      const results = resultsOf(answer, 2 * FORBIDDEN.length);
      for (const [index, name] of FORBIDDEN.entries()) {
        expectError(answer, results[index], 'INVALID_REQUEST', `a put with ${name}`);
        expectError(answer, results[FORBIDDEN.length + index], 'NOT_FOUND', `a get of what has ${name}`);
      }
      await expectRefused(tools, [
        ['content-length behind another', { headerTemplates: { accept: 'x', 'Content-Length': '1' } }],
      ]);
    },
  },
  {
    id: 'proxy-config.forbidden-in-replacement',
    title: 'a put that would replace a configuration by one with such a header leaves it as it was',
    requirements: ['STO-24'],
    claims: CLAIMS,
    run: async (tools) => {
      const base = { ...(await baseOf(tools)), proxyId: tools.freshProxyId() };
      expectOk(await tools.storage({ ...base, ...template('x-kept') }));
      expectRefusal(await tools.storage({ ...base, ...template('x-forwarded-for') }), 'INVALID_REQUEST');
      const answer = await tools.storage({ op: 'proxies.get', proxyId: base.proxyId });
      expectThat(JSON.stringify(expectOk(answer)).includes('x-kept'), answer, 'the configuration as it was');
    },
  },
  {
    id: 'proxy-config.other-headers',
    title: 'headers whose names only resemble the forbidden ones are accepted',
    requirements: ['STO-24', 'PRX-14'],
    claims: CLAIMS,
    run: (tools) =>
      expectTaken(tools, [
        {
          headerTemplates: Object.fromEntries(
            ['x-host', 'x-forwarded', 'x-proxy-of-mine', 'svelte', 'proxy', 'te-x', 'x-via'].map((name) => [
              name,
              'x',
            ]),
          ),
        },
      ]),
  },
];
