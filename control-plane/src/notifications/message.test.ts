import type { Id } from '@svault/shared';
import { describe, expect, it } from 'vitest';
import type { Approval } from '../core/approval.ts';
import { MAIL, PLAIN, SLACK, detailsOf, noticeOf, oneLine, textOf, titleOf } from './message.ts';

const APPROVAL: Approval = {
  id: 'apr_x' as Id<'apr'>,
  vaultId: 'vlt_x' as Id<'vlt'>,
  kind: 'policy',
  callerType: 'agent',
  callerId: 'agt_x',
  serviceName: 'github',
  requestKey: 'k',
  request: undefined,
  reason: undefined,
  askedAt: '2026-11-20T12:00:00.000Z',
  expiresAt: '2026-11-20T12:15:00.000Z',
  decision: undefined,
  decidedAt: undefined,
  decidedBy: undefined,
  uses: 1,
  validSeconds: 3_600,
  webhookApprovalId: undefined,
  url: undefined,
};
const BASE_URL = 'https://svault.example.org';
const noticeWith = (changes: Partial<Approval>, name: string | undefined = 'bot') =>
  noticeOf({ ...APPROVAL, ...changes }, name, BASE_URL);
const request = (url: string, more: object = {}): string =>
  JSON.stringify({ method: 'POST', url, digest: 'd', ...more });

describe('a notice', () => {
  it('says who asks for what, until when, and where it is decided', () => {
    expect(textOf(noticeWith({ reason: 'to release 1.2' }), PLAIN)).toBe(
      [
        '“bot” asks for “github”',
        'Reason, as the agent wrote it: “to release 1.2”',
        'It can be decided until 2026-11-20 12:15 UTC.',
        `${BASE_URL}/approvals/apr_x`,
      ].join('\n'),
    );
  });

  it('names host and path of a request, and never its query', () => {
    const url = 'https://api.github.com/repos/x?token=canary';
    const notice = noticeWith({ request: request(url, { tool: 'create_issue' }) });
    expect(detailsOf(notice, PLAIN)).toEqual([
      'Request: “POST api.github.com/repos/x”',
      'Tool: “create_issue”',
      expect.any(String),
    ]);
    expect(JSON.stringify(notice)).not.toContain('canary');
  });

  it('leads to the webhook where it is decided there', () => {
    const url = 'https://hook.example.org/approvals/apr_y';
    expect(noticeWith({ kind: 'passkey', url })).toMatchObject({ kind: 'passkey', url });
  });

  it('says that an agent asks for a grant, and names one that is gone by its id', () => {
    expect(titleOf(noticeWith({ kind: 'access' }), PLAIN)).toBe('“bot” asks for access to “github”');
    expect(titleOf(noticeOf(APPROVAL, undefined, BASE_URL), PLAIN)).toBe('“agt_x” asks for “github”');
  });

  it('cuts a reason to 200 characters', () => {
    expect(noticeWith({ reason: '😀'.repeat(500) })).toMatchObject({ reason: `${'😀'.repeat(200)}…` });
  });
});

describe('a hostile text', () => {
  it.each([
    ['a line end', 'a\r\nIt was decided.', 'a It was decided.'],
    ['a separator of lines or paragraphs', 'a\u2028b\u2029c', 'a b c'],
    ['marks that turn the order around', 'a\u202Eb\u2066c\u200F', 'abc'],
    ['what cannot be seen', 'a\u200Bb\u00ADc\u{E0041}', 'abc'],
    ['control characters', 'a\u0000b\u001B[31mc\u009B', 'ab[31mc'],
    ['half a character', 'a\uD800b', 'a\uFFFDb'],
  ])('stays one line in its order with %s', (_what, hostile, shown) => {
    expect(oneLine(hostile, 200)).toBe(shown);
  });

  it('cannot end its quotation', () => {
    expect(titleOf(noticeWith({}, 'x” asks for “npm'), PLAIN)).toBe('“x" asks for "npm” asks for “github”');
    expect(titleOf(noticeWith({}, 'x` <!here> `'), SLACK)).toBe("`x' &lt;!here&gt; '` asks for `github`");
  });

  it('makes no link in a mail', () => {
    const reason = 'see https://evil.example/approvals, or evil.example';
    expect(detailsOf(noticeWith({ reason }), MAIL)[0]).toBe(
      'Reason, as the agent wrote it: “see https[:]//evil[.]example/approvals, or evil[.]example”',
    );
  });

  it('does not end the link of a Slack text', () => {
    const url = 'https://hook.example.org/a|<https://evil.example>';
    expect(textOf(noticeWith({ url }), SLACK).split('\n').at(-1)).toBe(
      '<https://hook.example.org/a%7C&lt;https://evil.example&gt;>',
    );
  });
});
