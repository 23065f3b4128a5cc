import { randomBytes, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { toBase64, toBase64url, toHex, utf8 } from '@svault/shared';
import { XMLParser, XMLValidator } from 'fast-xml-parser';
import { afterEach, describe, expect, test } from 'vitest';
import { CHECKS } from '../src/registry.ts';
import { FORMATS, write } from '../src/report/formats.ts';
import type { Report } from '../src/report/report.ts';
import { loadRequirements } from '../src/requirements.ts';
import { runSuite } from '../src/suite-run.ts';
import type { WebhookToTest } from '../src/target.ts';

const SERVICE_URL = 'https://service.example';
let close: (() => Promise<void>) | undefined;
afterEach(() => close?.());

interface Leaky {
  readonly url: string;
  /** What must not be reported. */
  readonly secrets: string[];
}

/** A webhook that reveals all that it knows, in an answer of this form. */
async function startLeaky(say: (secrets: readonly string[]) => Said): Promise<Leaky> {
  const secrets: string[] = [];
  const server = createServer((request, response) => {
    void readAll(request).then(() => {
      const { status = 200, headers = {}, body } = say(secrets);
      response.writeHead(status, headers).end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  close = () =>
    new Promise((resolve) => {
      server.closeAllConnections();
      server.close(() => resolve());
    });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, secrets };
}

interface Said {
  readonly status?: number;
  readonly headers?: Record<string, string>;
  readonly body: string | Uint8Array;
}

async function readAll(request: IncomingMessage): Promise<void> {
  for await (const piece of request) void piece;
}

/** Spellings of a key or of a code; none may be found in any report. */
function spellings(bytes: Uint8Array): string[] {
  const base64 = toBase64(bytes);
  return [toBase64url(bytes), base64, base64.replace(/=+$/, ''), toHex(bytes), toHex(bytes).toUpperCase()];
}

async function reportOn(
  webhook: WebhookToTest,
  only = /^(health|replay|error|binding)\.|^signature\.tampered/,
): Promise<Report> {
  const checks = CHECKS.filter(({ id }) => only.test(id));
  const { report } = await runSuite({ webhook, checks, requirements: loadRequirements() });
  return report;
}

const addressOf = (webhookUrl: string): WebhookToTest['address'] => ({
  webhookUrl,
  serviceUrl: SERVICE_URL,
  timeoutMs: 2000,
});

const FORMS: Readonly<Record<string, (secrets: readonly string[]) => Said>> = {
  'in plain text': (secrets) => ({ status: 500, body: `panic: ${secrets.join(' ')}` }),
  'in JSON': (secrets) => ({ body: JSON.stringify({ status: 'ok', capabilities: [], debug: secrets }) }),
  'as names of members': (secrets) => ({
    body: JSON.stringify(Object.fromEntries(secrets.map((each) => [each, 1]))),
  }),
  'in headers': (secrets) => ({ status: 400, headers: { 'x-debug': secrets.join(', ') }, body: '{}' }),
  'in names of headers': (secrets) => ({
    headers: Object.fromEntries(secrets.map((each) => [each.replace(/[+/=]/g, ''), '1'])),
    body: '{}',
  }),
  'in codes of errors': (secrets) => ({
    status: 400,
    body: JSON.stringify({ error: secrets[0], code: secrets[0] }),
  }),
  'in base64 with more around it': (secrets) => ({ body: toBase64(utf8(`xx${secrets.join(',')}yy`)) }),
  'with escapes': (secrets) => ({ body: JSON.stringify({ a: secrets }).replaceAll('/', String.raw`\/`) }),
  'with escapes of Unicode': (secrets) => ({
    body: `{"a":"${[...secrets.join(' ')].map((each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')}"}`,
  }),
  'percent-encoded': (secrets) => ({ body: secrets.map((each) => encodeURIComponent(each)).join('&') }),
  'at the end of much else': (secrets) => ({ body: `${'a '.repeat(1990)}${secrets.join(' ')}` }),
};

describe('no report reveals the key of a webhook that reveals it', () => {
  test.each(Object.entries(FORMS))('%s', async (_, say) => {
    const secret = randomBytes(32);
    const { url, secrets } = await startLeaky(say);
    secrets.push(...spellings(secret));
    const report = await reportOn({
      address: addressOf(url),
      binding: { webhookId: 'whk_1', key: { id: 'k1', secret } },
    });
    expectUntold(report, secrets);
    expect(report.counts.failed).toBeGreaterThan(0);
    expect(write(report, 'json')).toContain('[redacted]');
  });

  test.each([
    ['as raw bytes', (secret: Buffer) => Buffer.concat([utf8('key: '), secret])],
    ['as a list of numbers', (secret: Buffer) => JSON.stringify({ key: secret.toJSON() })],
    ['as Go prints bytes', (secret: Buffer) => `[${[...secret].join(' ')}]`],
  ])('%s', async (_, body) => {
    const secret = randomBytes(32);
    const { url } = await startLeaky(() => ({ status: 500, body: body(secret) }));
    const report = await reportOn({
      address: addressOf(url),
      binding: { webhookId: 'whk_1', key: { id: 'k1', secret } },
    });
    expectUntold(report, [...spellings(secret), [...secret].join(' '), [...secret].join(',')]);
  });
});

test('no report reveals the binding code, nor the key that the exchange returned', async () => {
  const code = randomUUID();
  const secret = randomBytes(32);
  const key = { webhookId: 'whk_1', keyId: 'k1', hmacSecret: toBase64url(secret), protocol: 'v1' };
  const { url } = await startLeaky(() => ({
    body: JSON.stringify({
      ...key,
      status: 'ok',
      code,
      link: `${SERVICE_URL}/vault/webhook-bind?code=${code}`,
    }),
  }));
  const report = await reportOn({
    address: addressOf(url),
    invitation: { code, hmacHash: toHex(randomBytes(32)) },
  });
  expectUntold(report, [
    ...spellings(secret),
    code,
    code.toUpperCase(),
    code.replaceAll('-', ''),
    ...spellings(utf8(code)),
  ]);
});

test('values under a secret’s name are shown only if the suite sent them', async () => {
  const { url } = await startLeaky(() => ({
    status: 500,
    body: JSON.stringify({
      token: { accessToken: 'of-somebody-else', note: 'shown' },
      items: [{ client_secret: 'hush-hush' }],
    }),
  }));
  const binding = { webhookId: 'whk_1', key: { id: 'k1', secret: randomBytes(32) } };
  const report = await reportOn({ address: addressOf(url), binding });
  expectUntold(report, ['of-somebody-else', 'hush-hush']);
  expect(write(report, 'text')).toContain('"note":"shown"');
});

describe('a report on hostile responses', () => {
  const HARM = '</script><script>alert(1)</script>]]><img src=x onerror=alert(1)>\u001b[2J\u0000\u202e"\'&';
  const harmful = async (): Promise<Report> => {
    const { url } = await startLeaky(() => ({ status: 500, headers: { 'x-harm': '<b>' }, body: HARM }));
    return reportOn({
      address: addressOf(url),
      binding: { webhookId: 'w', key: { id: 'k', secret: randomBytes(32) } },
    });
  };

  test('is valid XML, with a case for each check', async () => {
    const report = await harmful();
    const xml = write(report, 'junit');
    // Well-formed, which the parser does not ask for. The validator moved to a package that this one brings along.
    // oxlint-disable-next-line typescript/no-deprecated
    expect(XMLValidator.validate(xml)).toBe(true);
    const parsed = new XMLParser({ ignoreAttributes: false }).parse(xml) as {
      testsuites: { '@_tests': string; '@_failures': string; testsuite: Array<{ testcase: unknown }> };
    };
    expect(parsed.testsuites['@_tests']).toBe(String(report.checks.length));
    expect(parsed.testsuites['@_failures']).toBe(String(report.counts.failed));
    expect(parsed.testsuites.testsuite.flatMap(({ testcase }) => testcase)).toHaveLength(
      report.checks.length,
    );
  });

  test('is a page without scripts, whose policy allows only its style sheet', async () => {
    const html = write(await harmful(), 'html');
    expect(html).not.toMatch(/<script|<img|<b>|onerror=alert\(1\)>/);
    expect(html).toContain(`default-src 'none'`.replaceAll("'", '&#39;'));
    expect(html).toContain('&lt;/script&gt;');
  });

  test('has no control character and no bidirectional override', async () => {
    const report = await harmful();
    for (const format of FORMATS)
      // oxlint-disable-next-line no-control-regex
      expect(write(report, format)).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e]/);
    expect(write(report, 'text')).toContain(String.raw`\x1b[2J\x00\u202e`);
  });

  test('is JSON with the documented members', async () => {
    const report = JSON.parse(write(await harmful(), 'json')) as Report;
    expect(report).toMatchObject({
      schema: 1,
      protocol: 'v1',
      conforms: false,
      suite: { name: 'svault-conformance' },
    });
    expect(report.checks[0]).toMatchObject({
      id: expect.any(String),
      verdict: expect.any(String),
      requirements: expect.any(Array),
    });
    expect(report.requirements.length).toBeGreaterThan(300);
  });
});

function expectUntold(report: Report, secrets: readonly string[]): void {
  for (const format of FORMATS) {
    const returned = write(report, format, { verbose: true });
    expect(secrets.filter((secret) => returned.includes(secret))).toEqual([]);
  }
}
