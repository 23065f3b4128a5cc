import { decisionOptions, pathBelow } from '../../approver/approver.ts';
import type { Check } from '../../check/check.ts';
import { expectThat } from '../../check/expect.ts';
import type { Tools } from '../../check/tools.ts';
import type { Answer } from '../../http/client.ts';
import { header, text } from '../../http/read-answer.ts';
import { json, toolCall } from '../proxy/ruled-record.ts';
import {
  asked,
  freshSub,
  OF_API,
  OF_PROXY,
  setUpApprovedApi,
  setUpApprovedMcp,
  storeApproved,
  type Asking,
} from './approved-record.ts';

/** Names of characters in HTML that the suite looks for. */
const NAMED: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
};

/** What a reader of a page sees: its text without tags, styles and scripts, its characters decoded. */
function seenOn(page: string): string {
  return page
    .replaceAll(/<(style|script)\b.*?<\/\1>/gis, '')
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll(/&(?:#(\d+)|#x([0-9a-f]+)|([a-z]+));/gi, (entity, decimal, hex, name: string) => {
      if (name !== undefined) return NAMED[name.toLowerCase()] ?? entity;
      return String.fromCodePoint(decimal === undefined ? Number.parseInt(String(hex), 16) : Number(decimal));
    });
}

async function pageOf(tools: Tools, asking: Asking): Promise<Answer> {
  const { url } = await asked(tools, asking);
  const headers = [['accept', 'text/html']] as const;
  const page = await tools.send({ method: 'GET', path: pathBelow(tools, url), headers });
  const isPage = page.status === 200 && header(page, 'content-type')?.startsWith('text/html') === true;
  expectThat(isPage, page, 'a page');
  return page;
}

function expectShown(page: Answer, ...parts: readonly string[]): void {
  const seen = seenOn(text(page));
  for (const part of parts) expectThat(seen.includes(part), page, `${part} on the page`);
}

/** Protocol section 5.10: the page of a request, as far as its text and its headers show. */
export const PAGE_CHECKS: readonly Check[] = [
  {
    id: 'approvals.page',
    title: 'the page of a request shows record, caller, method, host, path, query, covered fields and body',
    requirements: ['APR-38'],
    claims: OF_API,
    run: async (tools) => {
      const api = await setUpApprovedApi(tools);
      const body = '{"title":"<b>ö</b>"}\n';
      const call = {
        method: 'PATCH',
        target: '/issues/1?a=b&c=d',
        body,
        headers: [['x-covered', 'its value']],
      } as const;
      const page = await pageOf(tools, api.asking(call));
      const { answer, shown } = await decisionOptions(tools, (await asked(tools, api.asking(call))).url);
      expectThat(shown['body'] === Buffer.from(body).toString('base64'), answer, 'the body in shown');
      const fields = Array.isArray(shown['fields']) ? shown['fields'] : [];
      const hasField = fields.some((each) => String(each) === 'x-covered,its value');
      expectThat(hasField, answer, 'the covered field in shown');
      const { host, pathname } = new URL(api.place.url);
      expectShown(page, api.name, api.sub, 'PATCH', host, `${pathname}/issues/1`, 'a=b&c=d');
      expectShown(page, 'x-covered', 'its value', '{"title":"<b>ö</b>"}');
      const bodyDigest = `sha-256=:${Buffer.alloc(32).toString('base64')}:`;
      const asking = api.asking({ target: '/long' });
      const operation = { ...asking.operation, bodyDigest, bodyBytes: 20_000 };
      const digest = await pageOf(tools, { ...asking, operation });
      expectThat(/digest/i.test(seenOn(text(digest))), digest, 'that there is nothing but a digest');
    },
  },
  {
    id: 'approvals.page-of-message',
    title: 'the page of a message of MCP shows its tool and its arguments',
    requirements: ['APR-38'],
    claims: OF_PROXY,
    run: async (tools) => {
      const mcp = await setUpApprovedMcp(tools);
      const call = json(toolCall('drop_table', { table: 'accounts' }));
      expectShown(await pageOf(tools, mcp.asking(call)), mcp.name, mcp.sub, 'drop_table', 'accounts');
    },
  },
  {
    id: 'approvals.page-of-words',
    title: 'name and reason are shown without their markup, and what is unseen in them by its code point',
    requirements: ['APR-39'],
    claims: ['store', 'approvals'],
    run: async (tools) => {
      const { name: serviceName } = await storeApproved(tools);
      const [name, reason] = [
        '<i>Ana</i> &amp; co',
        'for<script>x</script> "it"\u202Egnp.\u200B\u{E0041}\u2066',
      ];
      const page = await pageOf(tools, { serviceName, sub: freshSub(), name, reason });
      const raw = text(page);
      for (const markup of ['<i>Ana', '<script>x', '<SCRIPT>x'])
        expectThat(!raw.includes(markup), page, 'no markup of another’s words');
      const seen = seenOn(raw);
      expectThat(seen.includes('<i>Ana</i> &amp; co'), page, 'the name as it was sent');
      expectThat(seen.includes('for<script>x</script> "it"'), page, 'the reason as it was sent');
      for (const unseen of ['\u202E', '\u200B', '\u{E0041}', '\u2066']) {
        const point = (unseen.codePointAt(0) ?? 0).toString(16);
        expectThat(!seen.includes(unseen), page, `not the character U+${point} itself`);
        expectThat(seen.toLowerCase().includes(point), page, `the code point ${point}`);
      }
    },
  },
  {
    id: 'approvals.page-policy',
    title: 'the page of a request runs no script but its own, calls nobody else and stands in no frame',
    requirements: ['APR-40'],
    claims: ['store', 'approvals'],
    run: async (tools) => {
      const { name: serviceName } = await storeApproved(tools);
      const page = await pageOf(tools, { serviceName, sub: freshSub() });
      const policies = page.headers
        .filter(([name]) => name === 'content-security-policy')
        .map(([, value]) => value);
      expectThat(policies.length > 0, page, 'a Content-Security-Policy');
      const { origin } = new URL(tools.target.webhookUrl);
      const isOwn = (source: string): boolean =>
        source === origin || /^'(none|self|nonce-.+|sha(256|384|512)-.+)'$/.test(source);
      const holds = (names: readonly string[], is: (source: string) => boolean): boolean =>
        policies.some((policy) => sourcesOf(policy, names)?.every(is) === true);
      expectThat(holds(['script-src', 'default-src'], isOwn), page, 'no script but its own');
      expectThat(holds(['connect-src', 'default-src'], isOwn), page, 'nobody to call but the webhook');
      const isNone = (source: string): boolean => source === "'none'";
      expectThat(holds(['frame-ancestors'], isNone), page, "frame-ancestors 'none'");
    },
  },
];

/** Sources of the first of these directives that a policy has. */
function sourcesOf(policy: string, names: readonly string[]): readonly string[] | undefined {
  const directives = policy.split(';').map((each) => each.trim().split(/\s+/));
  for (const name of names) {
    const found = directives.find(([directive]) => directive?.toLowerCase() === name);
    if (found !== undefined) return found.slice(1);
  }
  return undefined;
}
