import { htmlPage } from '@svault/server-kit/html-page';
import { type ApprovalFacts, approvalText } from '@svault/shared';
import { describe, expect, it } from 'vitest';
import { approvalPage } from './approval-pages.ts';
import type { ApprovalView } from './decide.ts';

const OPERATION = {
  type: 'proxy',
  proxyId: 'prx_1',
  method: 'POST',
  url: 'https://api.test/items?a=1',
  digest: 'sha-256=:AAAA:',
} as const;

function pageOf(view: Partial<ApprovalView> = {}, facts: Partial<ApprovalFacts> = {}): string {
  const signed: ApprovalFacts = {
    id: 'apr_1',
    webhook: 'whk_1',
    serviceName: 'github',
    sub: 'agt_1',
    operation: OPERATION,
    askedAt: '2026-11-20T12:00:00.000Z',
    expiresAt: '2026-11-20T12:15:00.000Z',
    ...facts,
  };
  const whole: ApprovalView = {
    id: 'apr_1',
    status: 'pending',
    standingSeconds: undefined,
    expiresAtMs: Date.UTC(2026, 10, 20, 12, 15),
    signed: { text: approvalText(signed), facts: signed },
    shown: {},
    maxStandingSeconds: undefined,
    approver: undefined,
    counts: { asked: 3, approved: 1, denied: 1 },
    hasApprovers: true,
    ...view,
  };
  const page = approvalPage(whole, Date.UTC(2026, 10, 20, 12));
  return htmlPage({ program: 'webhook', url: 'https://hook.test' }, page);
}
const withBody = (body: string | Uint8Array): string =>
  pageOf({ shown: { body: Buffer.from(body).toString('base64') } });

describe('the page of a request', () => {
  it('shows who asks, for what, how often before, and until when', () => {
    const html = pageOf({ shown: { name: 'Deploy bot', reason: 'a release' } });
    for (const part of [
      'github',
      'agt_1',
      '“<bdi>Deploy bot</bdi>” (from the control plane, not verified)',
      'api.test',
      'a release',
    ])
      expect(html).toContain(part);
    expect(html).toContain('<bdi>POST</bdi></strong></code> <code><strong><bdi>/items</bdi>');
    expect(html).toContain('this caller asked 3 times: 1 approved, 1 denied');
    expect(html).toContain('Expires in 15 minutes, at 2026-11-20 12:15 UTC');
  });

  it('says that a secret that is handed out can be kept', () => {
    expect(pageOf({}, { operation: { type: 'credential' } })).toContain('The secret itself.');
  });

  it('shows a body whole, JSON in lines where that says the same', () => {
    expect(withBody('{"a":1,"b":[2]}')).toContain(
      '{\n  &quot;a&quot;: 1,\n  &quot;b&quot;: [\n    2\n  ]\n}',
    );
    expect(withBody('{"a":1e400}')).toContain('{&quot;a&quot;:1e400}');
    expect(withBody('{"a":12345678901234567890}')).toContain('12345678901234567890');
    expect(withBody('{"a":1,"a":2}')).toContain('{&quot;a&quot;:1,&quot;a&quot;:2}');
    expect(withBody('a=1&b=<i>')).toContain('a=1&amp;b=&lt;i&gt;');
  });

  it('says plainly where there is nothing but a digest', () => {
    expect(withBody(new Uint8Array([0xff, 0xfe]))).toMatch(
      /2 bytes that are not text in UTF-8, and cannot be shown here\. .*sha-256=:AAAA:/,
    );
    expect(pageOf({ shown: { bodyBytes: 20_000 } })).toMatch(
      /20000 bytes and cannot be shown here\. .*sha-256=:AAAA:/,
    );
  });

  it.each([
    ['content-type', 'application/json; charset=utf-16'],
    ['content-type', 'text/plain; charset="UTF-7"'],
    ['content-type', "text/plain; charset*=utf-8''utf-16"],
    ['content-type', 'text/plain; charset=utf-8; charset=utf-16'],
    ['content-encoding', 'gzip'],
  ])('shows no body as text whose %s is %s', (name, value) => {
    const shown = { body: Buffer.from('harmless').toString('base64'), fields: [[name, value]] as const };
    const html = pageOf({ shown });
    expect(html).not.toContain('harmless');
    expect(html).toMatch(/8 bytes that are not text in UTF-8, .*sha-256=:AAAA:/);
  });

  it.each([
    'application/json',
    'application/json; charset="UTF-8"',
    'text/plain; charset=us-ascii; format=flowed',
  ])('shows a body of %s', (type) => {
    const shown = {
      body: Buffer.from('readable').toString('base64'),
      fields: [['content-type', type]] as const,
    };
    expect(pageOf({ shown })).toContain('readable');
  });

  it('shows the mark of the byte order, which a parser may take for the sign of another encoding', () => {
    expect(withBody('\ufeff{}')).toContain('\\u{feff}{}');
  });

  it('offers an allowance only where the record permits one', () => {
    expect(pageOf()).not.toContain('Allow for');
    const html = pageOf({ maxStandingSeconds: 3600 });
    expect(html).toContain('Allow for 60 minutes');
    expect(html).toContain(
      'data-fields="{&quot;decision&quot;:&quot;approve&quot;,&quot;scope&quot;:&quot;standing:3600&quot;}"',
    );
  });

  it('offers nothing but a revocation once it is approved, and nothing at all once it is over', () => {
    const approved = pageOf({ status: 'approved' });
    expect(approved).toContain('>Revoke</button>');
    expect(approved).not.toContain('Approve once');
    for (const status of ['used', 'denied', 'expired'] as const)
      expect(pageOf({ status })).not.toContain('<button');
  });

  it('offers nothing where there are no approvers', () => {
    const html = pageOf({ hasApprovers: false });
    expect(html).not.toContain('<button');
    expect(html).toContain('approver-link');
  });

  it('cannot be changed in its meaning by what is shown on it', () => {
    const hostile = '</pre></dd><button data-post="x">Approve</button>\u202E"\'><script>alert(1)</script>';
    const html = pageOf(
      {
        shown: {
          name: hostile,
          reason: hostile,
          fields: [['x-a', hostile]],
          body: Buffer.from(hostile).toString('base64'),
        },
      },
      { serviceName: hostile, sub: hostile, operation: { ...OPERATION, mcp: hostile, tool: hostile } },
    );
    expect(html.match(/<script/g)).toHaveLength(1);
    expect(html.match(/<button/g)).toHaveLength(2);
    expect(html).not.toContain('\u202E');
    expect(html.match(/\\u\{202e\}/g)?.length).toBeGreaterThanOrEqual(8);
  });

  it('has no attribute that could run a script', () => {
    expect(pageOf({ maxStandingSeconds: 600 })).not.toMatch(/\son\w+=|javascript:|style="/i);
  });
});
