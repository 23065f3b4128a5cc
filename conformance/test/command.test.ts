import { toBase64url } from '@svault/shared';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { SERVICE_URL, startMinimalWebhook, type MinimalWebhook } from '../fixtures/minimal.ts';
import type { Rules } from '../fixtures/rules.ts';
import { main } from '../src/command.ts';
import { selectChecks } from '../src/registry.ts';
import { requirements } from './suite.ts';

/** The sentence that the check of these examples observes. */
const observed = requirements.get(selectChecks(['ticket.single-use'])[0]?.requirements[0] ?? '');
let webhook: MinimalWebhook | undefined;
let out: string[];
let err: string[];

beforeEach(() => {
  out = [];
  err = [];
});
afterEach(() => webhook?.close());

const run = (...args: string[]): Promise<number> =>
  main(args, { out: (text) => out.push(text), err: (text) => err.push(text) });

async function targetFlags(changed: Partial<Rules> = {}): Promise<readonly string[]> {
  webhook = await startMinimalWebhook(changed);
  const { webhookId, key } = webhook.binding;
  const secret = toBase64url(key.secret);
  const target = `--webhook-url ${webhook.url} --webhook-id ${webhookId} --service-url ${SERVICE_URL}`;
  return `${target} --key-id ${key.id} --secret ${secret}`.split(' ');
}

describe('exit 0', () => {
  test('where the webhook conforms, with a summary as the last line', async () => {
    expect(await run(...(await targetFlags()))).toBe(0);
    expect(out.at(-1)).toMatch(/^\d+ passed, 0 failed, 0 warnings, 0 skipped$/);
  });

  test('for --list, which needs no webhook', async () => {
    expect(await run('--list', '--only', 'ticket.single-use')).toBe(0);
    expect(out).toEqual([`ticket.single-use\t${observed?.id}\ta ticket delivers once`]);
  });

  test('for checks that the webhook claims no part in', async () => {
    const signedHealth = { status: 'ok', capabilities: [] };
    expect(await run(...(await targetFlags({ signedHealth })), '--only', 'ticket.single-use')).toBe(0);
    expect(out[0]).toBe('skip  ticket.single-use  (the webhook does not claim credential)');
  });
});

describe('exit 1', () => {
  test('where a MUST fails, saying what was sent, came back and was expected, and by which sentence', async () => {
    expect(await run(...(await targetFlags({ claimsTickets: 'never' })), '--only', 'ticket.single-use')).toBe(
      1,
    );
    const report = out.join('\n');
    expect(report).toContain(`FAIL  ticket.single-use  MUST ${observed?.id}`);
    expect(report).toContain(`protocol ${observed?.section}: “${observed?.sentence}”`);
    expect(report).toContain('sent      GET /v1/credential?ticket=');
    expect(report).toContain('came back 200');
    expect(report).toContain('expected  401 with { error, code: TICKET_INVALID }');
  });

  test('where nothing answers', async () => {
    const flags = await targetFlags();
    await webhook?.close();
    expect(await run(...flags, '--only', 'health.open')).toBe(1);
    expect(out.join('\n')).toContain('came back nothing');
  });
});

describe('exit 2', () => {
  test.each([
    ['nothing given', [], /^error: missing: --webhook-url, --webhook-id, --service-url, --key-id, --secret$/],
    ['an unknown flag', ['--what'], /unknown option '--what'/],
    [
      'an unknown check',
      ['--list', '--only', 'ticket.nothing'],
      /^error: no check is called ticket\.nothing$/,
    ],
    ['a secret file that is not there', ['--secret-file', '/does/not/exist'], /^error: cannot read/],
  ])('for %s', async (_, args, said) => {
    expect(await run(...args)).toBe(2);
    expect(err.join('\n')).toMatch(said);
  });

  test('for a secret that is no key', async () => {
    const flags = await targetFlags();
    expect(await run(...flags.slice(0, -1), 'c2hvcnQ')).toBe(2);
    expect(err.join('\n')).toContain('the secret is base64url of 32 bytes');
  });
});
