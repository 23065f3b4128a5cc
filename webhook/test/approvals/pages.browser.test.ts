/** The pages of approvers in a real browser, with its virtual authenticators (Web Authentication Level 3, section 11). */
import { freePort } from '@svault/compose/free-port';
import { usePage } from '@svault/test-kit/use-page';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ManualClock } from '@svault/shared';
import { APPROVAL_PAGE_NAMES } from '../../src/approvals/approval-pages.ts';
import {
  APPROVAL,
  CREDENTIAL,
  approverLink,
  ask,
  enrol as enrolSoftwarePasskey,
  statusOf,
} from '../support/approvals.ts';
import { type BoundWebhook, boundWebhook } from '../support/bound-webhook.ts';
import { PROXY, putProxy } from '../support/proxy-calls.ts';
import { command } from '../support/run-webhook.ts';

/** Of a phone on which what matters is seen without scrolling. */
const PHONE = { width: 390, height: 844 };
const PHONES = [390, 320];
/** A credential whose owner says that it is for tools. */
const MCP_SERVICE = 'tools';
const MCP_PROXY = 'prx_BBBBBBBBBBBBBBBBBBBBBB';
const HOSTILE = '<b onload=alert(1)>"\'&amp; \u202Eevil سوكيل ' + 'long'.repeat(30);
const BODY = JSON.stringify({ name: HOSTILE, text: 'a long text '.repeat(400) });

const own = usePage();
const { expectGoodToLookAt, expectSoundAt } = own;
let webhook: BoundWebhook;
let cdp: Awaited<ReturnType<typeof own.context.newCDPSession>>;
let agents = 0;

beforeAll(async () => {
  const port = await freePort();
  const env = { SV_WEBHOOK_URL: `http://localhost:${port}`, SV_WEBHOOK_LISTEN: `127.0.0.1:${port}` };
  webhook = await boundWebhook({ env, clock: new ManualClock(Date.now()) });
  const secret = {
    tokenType: 'PlainText',
    value: 'tkn_approvals_0123456789',
    allowedHosts: ['api.test'],
    approval: { ...APPROVAL, standingSeconds: 3600 },
  };
  await webhook.store('api', secret);
  await putProxy(webhook, 'https://api.test/v1', { kind: 'http' });
  await webhook.store(MCP_SERVICE, { ...secret, requests: [{ tools: ['*'], paths: ['/mcp'] }] });
  await putProxy(webhook, 'https://api.test/mcp', { proxyId: MCP_PROXY, serviceName: MCP_SERVICE });
});
afterAll(() => webhook?.remove());

/** A device with a screen lock, which the person passes. */
async function addAuthenticator(): Promise<string> {
  const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return authenticatorId;
}

beforeEach(async () => {
  cdp = await own.context.newCDPSession(own.page);
  await cdp.send('WebAuthn.enable');
});

const run = (...args: string[]) => command({ env: webhook.env, clock: webhook.clock }, ...args);
const at = (path: string): string => `${webhook.env['SV_WEBHOOK_URL']}${path}`;
const open = (path: string) => own.page.goto(at(path));
const heading = (text: string): Promise<void> =>
  own.page.getByRole('heading', { level: 1, name: text, exact: true }).waitFor();
const button = (name: string) => own.page.getByRole('button', { name, exact: true });
const outcome = () => own.page.locator('#outcome');

async function enrol(name = 'Ana'): Promise<string> {
  const authenticator = await addAuthenticator();
  await open(await approverLink(webhook, name));
  await button('Register a passkey').click();
  await heading('You are an approver');
  return authenticator;
}
/** A new agent's, so that no request is the same as another. */
async function newRequest(operation: object = CREDENTIAL, more: object = {}): Promise<string> {
  agents += 1;
  const { json, text } = await ask(webhook, operation, {
    sub: `agt_${String(agents).padStart(22, '0')}`,
    ...more,
  });
  if (json.id === undefined) throw new Error(text);
  return json.id;
}
/** A call of a tool of MCP. */
const toolCall = (
  name: string,
  args: object,
  fields: readonly (readonly [string, string])[] = [],
): object => ({
  ...{ type: 'proxy', proxyId: MCP_PROXY, method: 'POST' },
  fields: [['content-type', 'application/json'], ...fields],
  body: Buffer.from(
    JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }),
  ).toString('base64'),
});
/** As much of a text as may stand in a header field. */
const printable = (text: string): string => text.replaceAll(/[^\x20-\x7e]/g, '').trim() || 'none';
const openRequest = async (...given: Parameters<typeof newRequest>): Promise<string> => {
  const id = await newRequest(...given);
  await open(`/approvals/${id}`);
  return id;
};

describe('an approver', () => {
  test('registers by a link and approves, allows, denies and revokes with the passkey', async () => {
    await enrol();
    const approvedOnce = await openRequest();
    await button('Approve once').click();
    await heading('Approved: hand out this credential');
    expect(await statusOf(webhook, approvedOnce)).toBe('approved');
    await button('Revoke').click();
    await heading('No longer open');
    expect(await statusOf(webhook, approvedOnce)).toBe('expired');

    const allowed = await openRequest();
    await button('Allow for 60 minutes').click();
    await heading('Approved: hand out this credential');
    await own.page.getByText('Allowed by Ana until').waitFor();
    expect(await statusOf(webhook, allowed)).toBe('approved');

    const denied = await openRequest();
    await button('Deny').click();
    await heading('Denied');
    expect(await statusOf(webhook, denied)).toBe('denied');
    expect(own.complaints).toEqual([]);
  });

  test('whose device does not verify them decides nothing, and is told so', async () => {
    const authenticator = await enrol();
    await cdp.send('WebAuthn.setUserVerified', { authenticatorId: authenticator, isUserVerified: false });
    const id = await openRequest();
    await button('Approve once').click();
    await expect.poll(() => outcome().textContent()).toBe('Nothing changed: the passkey was not used.');
    expect(await statusOf(webhook, id)).toBe('pending');
    await expect.poll(() => button('Approve once').isEnabled()).toBe(true);
  });

  test('who was removed is refused, and told so', async () => {
    await enrol();
    for (const [id = ''] of (await run('approvers')).stdout.matchAll(/^apv_\S+/gm))
      await run('approver-remove', id);
    await enrolSoftwarePasskey(webhook, 'Bo');
    const id = await openRequest();
    await button('Approve once').click();
    await expect
      .poll(() => outcome().textContent())
      .toMatch(/^This passkey is not an approver of this webhook/);
    expect(await statusOf(webhook, id)).toBe('pending');
  });

  test('who comes too late is told so', async () => {
    await enrol();
    const id = await openRequest();
    await run('approvals', 'revoke', id);
    await button('Approve once').click();
    await expect
      .poll(() => outcome().textContent())
      .toBe('This request was decided, used or expired meanwhile.');
  });
});

describe('from the link of a message, on a phone,', () => {
  const openOnPhone = async (): Promise<string> => {
    await enrol();
    await own.page.setViewportSize(PHONE);
    return openRequest(toolCall('create_issue', { title: 'The build fails' }), {
      serviceName: MCP_SERVICE,
      reason: 'It fails since noon',
    });
  };

  test('a request is approved by one tap and the passkey', async () => {
    const id = await openOnPhone();
    await expect.poll(() => button('Approve once').isEnabled()).toBe(true);
    await own.tap(button('Approve once'));
    await heading('Approved: make this request');
    expect(await statusOf(webhook, id)).toBe('approved');
  });

  test('a request is approved by at most five keys and the passkey', async () => {
    const id = await openOnPhone();
    await expect.poll(() => button('Approve once').isEnabled()).toBe(true);
    const focused = () => own.page.evaluate<string>('document.activeElement.textContent');
    let keys = 0;
    for (; (await focused()) !== 'Approve once'; keys += 1) await own.page.keyboard.press('Tab');
    await own.page.keyboard.press('Enter');
    await heading('Approved: make this request');
    expect(keys + 1).toBeLessThanOrEqual(5);
    expect(await statusOf(webhook, id)).toBe('approved');
  });

  test('every state of a request is accessible', async () => {
    await openOnPhone();
    await expectSoundAt(PHONES, 'approval', 'tool');
    await button('Allow for 60 minutes').click();
    await heading('Approved: make this request');
    await expectSoundAt(PHONES, 'approval', 'allowed');
    await button('Revoke').click();
    await heading('No longer open');
    await expectSoundAt(PHONES, 'approval-closed', 'revoked');

    await own.page.setViewportSize(PHONE);
    const id = await openRequest();
    await expectSoundAt(PHONES, 'approval', 'credential');
    await run('approvals', 'revoke', id);
    await button('Deny').click();
    await expect.poll(() => outcome().textContent()).toMatch(/meanwhile\.$/);
    await expect.poll(() => own.page.locator(':focus').textContent()).toBe('Deny');
    await expectSoundAt(PHONES, 'approval', 'too-late');
  });
});

/** Texts that a caller, or a compromised control plane, could choose. */
const HOSTILE_TEXTS: Readonly<Record<string, string>> = {
  markup:
    '</bdi></pre></dd></dl><h1>Approved</h1><button>Approve once</button><style>dl{display:none}</style>',
  'from right to left': '\u202E\u2066\u200Fevil \u05D0\u0627'.repeat(20),
  homoglyphs: 'gіthub аррrоvе '.repeat(20),
  'of zero width': '\u200B\u200D\uFEFF\u2060'.repeat(100),
  'of emoji': '😀'.repeat(500),
  'of one word': 'W'.repeat(500),
  'of lines': '\n'.repeat(500),
  'of marks in a pile': `e${'\u0301'.repeat(400)}`,
  'of style': '; } dl, dt, dd { display: none !important } .actions { position: static; ',
};

/** What a person decides by, as long as it is in sight and nothing covers it, in the order of the page. */
const IN_SIGHT = `[...document.querySelectorAll('h1, dt, .actions button')]
  .filter((node) => {
    const { left, right, top, bottom } = node.getBoundingClientRect();
    const isInside = left >= 0 && right <= innerWidth && top >= 0 && bottom <= innerHeight;
    return isInside && node.contains(document.elementFromPoint((left + right) / 2, (top + bottom) / 2));
  })
  .map((node) => node.textContent)`;
/** Texts that stick out of the window or of what they are in, or lie over the fact before them. */
const OUT_OF_PLACE = `[...document.querySelectorAll('main :is(h1, h2, dl, dt, dd, pre, p)')]
  .filter((node) => {
    const own = node.getBoundingClientRect();
    const outer = node.parentElement.getBoundingClientRect();
    const before = node.previousElementSibling?.matches('dt, dd, h2, pre')
      ? node.previousElementSibling.getBoundingClientRect()
      : undefined;
    const isBelow = before === undefined || own.top >= before.bottom - 1 || own.left >= before.right - 1;
    return own.left < outer.left - 1 || own.right > outer.right + 1 || node.scrollWidth > node.clientWidth + 1 || !isBelow;
  })
  .map((node) => node.outerHTML.slice(0, 200))`;

describe('a hostile text', () => {
  const FACTS = ['Credential', 'Caller', 'Use', 'Host', 'Tool'];
  const BUTTONS = ['Approve once', 'Deny', 'Allow for 60 minutes'];

  test.each(Object.entries(HOSTILE_TEXTS))('%s does not change what the page says', async (kind, text) => {
    await enrol();
    await own.page.setViewportSize(PHONE);
    await openRequest(toolCall(text, { [text]: text }, [['x-account', printable(text)]]), {
      serviceName: MCP_SERVICE,
      name: [...text].slice(0, 50).join(''),
      reason: [...text].slice(0, 250).join(''),
    });
    await expect.poll(() => button('Approve once').isEnabled()).toBe(true);
    const seen = await own.page.evaluate<string[]>(IN_SIGHT);
    expect(seen.filter((each) => [...FACTS, ...BUTTONS].includes(each))).toEqual([...FACTS, ...BUTTONS]);
    expect(seen[0]).toBe('Make this request?');
    for (const width of [320, 390, 1280]) {
      await own.page.setViewportSize({ width, height: PHONE.height });
      expect(await own.page.evaluate(OUT_OF_PLACE)).toEqual([]);
      expect(await own.page.evaluate('document.documentElement.scrollWidth')).toBe(width);
    }
    await expect.poll(() => own.page.locator('h1').count()).toBe(1);
    await expect.poll(() => own.page.locator('main button').allTextContents()).toEqual(BUTTONS);
    expect(await own.page.locator('main').textContent()).not.toMatch(/[\u202E\u2066\u200B\uFEFF]/);
    await expectSoundAt([PHONE.width], 'approval', `hostile-${kind.replaceAll(' ', '-')}`);
  });
});

/** How each page is reached. */
const PAGES: Readonly<Record<(typeof APPROVAL_PAGE_NAMES)[number], () => Promise<unknown>>> = {
  approval: async () => {
    await enrol();
    await openRequest(
      {
        ...{
          type: 'proxy',
          proxyId: PROXY,
          method: 'POST',
          target: `/items/${'a'.repeat(200)}?q=${'b'.repeat(200)}`,
        },
        fields: [['x-account', 'c'.repeat(300)]],
        body: Buffer.from(BODY).toString('base64'),
      },
      { name: HOSTILE.slice(0, 100), reason: HOSTILE },
    );
  },
  'approval-closed': async () => {
    await enrol();
    await openRequest();
    await button('Deny').click();
    await heading('Denied');
  },
  'approval-unknown': () => open(`/approvals/apr_${'A'.repeat(22)}`),
  enrol: async () => open(await approverLink(webhook)),
  enrolled: () => open('/approvers/new?done'),
  'enrol-invalid': () => open('/approvers/new?code=x'),
};

test.each(APPROVAL_PAGE_NAMES)(
  'the page %s is accessible, leads on, and looks like all others',
  async (name) => {
    await PAGES[name]();
    await expectGoodToLookAt(name);
  },
);

test('a page runs no script but its own, calls nobody but the webhook, and stands in no frame', async () => {
  const answer = await open(await approverLink(webhook));
  const policy = (await answer?.allHeaders())?.['content-security-policy'] ?? '';
  expect(policy).toMatch(/^default-src 'none';/);
  expect(policy).toMatch(/script-src 'sha256-[^']+';connect-src 'self'$/);
  expect(policy).toContain("frame-ancestors 'none'");
});
