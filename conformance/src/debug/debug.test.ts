import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { main } from '../command.ts';
import { examine } from './verify.ts';
import { vectors } from './vectors.ts';

interface Vector {
  readonly name: string;
  readonly expect: 'accept' | 'refuse';
  readonly breaks?: string;
  readonly now: number;
  readonly key: string;
  readonly request: {
    readonly method: string;
    readonly authority: string;
    readonly path: string;
    readonly query: string;
    readonly headers: ReadonlyArray<readonly [string, string]>;
    readonly body: string;
  };
}

const VECTORS = (JSON.parse(vectors('request-signatures') ?? '') as { vectors: Vector[] }).vectors;
const KEY_HEX = '000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f';
const AT = '2026-01-01T00:00:00Z';
let dir: string;
let out: string[];
let err: string[];

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'svault-debug-'));
  [out, err] = [[], []];
});
afterEach(() => rmSync(dir, { recursive: true }));

const run = (args: readonly string[], input = ''): Promise<number> =>
  main(args, { out: (text) => out.push(text), err: (text) => err.push(text), input: async () => input });
const KEY = ['--secret', KEY_HEX, '--key-id', 'k1', '--webhook-url', 'https://hook.example'] as const;

/** The example of protocol section 3.4. */
const EXAMPLE = [
  'POST /v1/storage HTTP/1.1',
  'Host: hook.example',
  'Content-Type: application/json',
  'Content-Digest: sha-256=:qnzhQwDM+AEvSWLtxB1orciJVlDpzlo5b1H+On92Tx0=:',
  'Signature-Input: sv=("@method" "@authority" "@path" "@query" "content-type" "content-digest");created=1767225600;expires=1767225660;nonce="AAECAwQFBgcICQoLDA0ODw";keyid="k1";alg="hmac-sha256";tag="sv-webhook-v1"',
  'Signature: sv=:6+kPjvIbbl4kriUchXQi6F0rJNjJatstjh+7u2S/+ew=:',
  '',
  '{"op":"tokens.get","serviceName":"github"}',
].join('\n');

describe('verify', () => {
  // What is left out: a key that is none, and what stands in no request line.
  test.each(
    VECTORS.filter(
      ({ key, request }) => key.length === 64 && !/[\s?]/.test(request.path + request.query),
    ).map((vector) => [vector.name, vector] as const),
  )('says of each vector what it expects: %s', (_, { request, key, now, expect: expected, breaks }) => {
    const { refusedBy } = examine(
      { ...request, target: request.path, body: Buffer.from(request.body) },
      {
        key: {
          id: /keyid="([^"]*)"/.exec(request.headers.flat().join(' '))?.[1] ?? 'k1',
          secret: Buffer.from(key, 'hex'),
        },
        webhookUrl: `https://${request.authority}`,
        nowMs: now * 1000,
      },
    );
    expect(refusedBy === undefined ? 'accept' : 'refuse').toBe(expected);
    expect(refusedBy).toBe(breaks);
  });

  test('shows the base, both MACs, the times and both digests of the protocol’s example', async () => {
    expect(await run(['verify', '-', ...KEY, '--at', AT], EXAMPLE)).toBe(0);
    const returned = out.join('\n');
    expect(returned).toContain('"@method": POST⏎');
    expect(returned).toContain('expected MAC: 6+kPjvIbbl4kriUchXQi6F0rJNjJatstjh+7u2S/+ew=');
    expect(returned).toContain('(equal)');
    expect(returned).toContain('created: 1767225600 (2026-01-01T00:00:00.000Z), in 0 seconds');
    expect(returned.split('sha-256=:qnzhQwDM')).toHaveLength(4);
    expect(returned).toContain('accepted, unless the nonce was used before');
  });

  test.each([
    ['another path', EXAMPLE.replace('/v1/storage', '/v1/health'), 'SIG-45'],
    ['another body', EXAMPLE.replace('github', 'gitlab'), 'SIG-52'],
    ['another key id', EXAMPLE.replace('keyid="k1"', 'keyid="k2"'), 'SIG-44'],
    ['no signature', EXAMPLE.replace(/Signature: .*\n/, ''), 'SIG-26'],
    ['a query', EXAMPLE.replace('/v1/storage', '/v1/storage?a'), 'SIG-18'],
    ['a name in capitals', EXAMPLE.replace('"content-type"', '"Content-Type"'), 'SIG-24'],
  ])('exits 1 and names the requirement that rejects %s', async (_, message, requirement) => {
    expect(await run(['verify', '-', ...KEY, '--at', AT], message)).toBe(1);
    expect(out.join('\n')).toContain(`refused by ${requirement}: `);
  });

  test.each([
    ['late', '2026-01-01T00:01:31Z', 'SIG-49'],
    ['early', '1767225569', 'SIG-48'],
  ])('exits 1 for a request that is too %s', async (_, at, requirement) => {
    expect(await run(['verify', '-', ...KEY, '--at', at], EXAMPLE)).toBe(1);
    expect(out.join('\n')).toContain(`refused by ${requirement}: `);
  });

  test.each([
    ['CRLF', EXAMPLE.replaceAll('\n', '\r\n'), undefined, undefined],
    ['a line end that an editor left', `${EXAMPLE}\n`, undefined, undefined],
    ['a path that a proxy stripped', EXAMPLE, 'https://hook.example/prefix', 'SIG-45'],
  ])('reads %s', async (_, message, webhookUrl = 'https://hook.example', refusedBy) => {
    const code = await run(['verify', '-', ...KEY.slice(0, -1), webhookUrl, '--at', AT], message);
    expect(code).toBe(refusedBy === undefined ? 0 : 1);
    if (refusedBy !== undefined) expect(out.join('\n')).toContain('"@path": /prefix/v1/storage⏎');
  });

  test('decodes tickets', async () => {
    const { ticket } = JSON.parse(vectors('credential') ?? '') as { ticket: string };
    await run(['verify', '-', ...KEY, '--at', AT], EXAMPLE.replace('\n\n', `\nsv-ticket: ${ticket}\n\n`));
    expect(out.join('\n')).toContain('"svc":"github"');
    expect(out.join('\n')).toContain('its MAC holds under this key');
  });

  test.each([
    ['a file that is not there', ['verify', '/does/not/exist', ...KEY], /ENOENT/],
    ['what is no request', ['verify', '-', ...KEY], /line 1 is no request line/],
    ['a key that is none', ['verify', '-', ...KEY.slice(2), '--secret', 'abc'], /32 bytes/],
    ['a time that is none', ['verify', '-', ...KEY, '--at', 'noon'], /--at is a time/],
    ['no key id', ['verify', '-', '--secret', KEY_HEX, '--webhook-url', 'https://a.example'], /--key-id/],
  ])('exits 2 for %s', async (_, args, said) => {
    expect(await run(args, 'hello')).toBe(2);
    expect(err.join('\n')).toMatch(said);
  });
});

describe('sign', () => {
  const UNSIGNED =
    'POST /v1/storage HTTP/1.1\nContent-Type: application/json\n\n{"op":"tokens.get","serviceName":"github"}\n';
  const NONCE = ['--nonce', 'AAECAwQFBgcICQoLDA0ODw'] as const;

  test('shows the base and the headers of the protocol’s example', async () => {
    const path = join(dir, 'request.http');
    writeFileSync(path, UNSIGNED);
    expect(await run(['sign', path, ...KEY, '--at', AT, ...NONCE])).toBe(0);
    const returned = out.join('\n');
    expect(returned).toContain('"content-type": application/json⏎');
    expect(returned).toContain('signature: sv=:6+kPjvIbbl4kriUchXQi6F0rJNjJatstjh+7u2S/+ew=:');
    expect(returned).toContain('content-digest: sha-256=:qnzhQwDM+AEvSWLtxB1orciJVlDpzlo5b1H+On92Tx0=:');
  });

  test.each([
    ['with a body', UNSIGNED],
    ['without one', 'POST /v1/health HTTP/1.1\n\n'],
    ['with a ticket', UNSIGNED.replace('\n\n', '\nSv-Ticket: a.b.c\n\n')],
    ['that was signed before', EXAMPLE],
  ])('creates a request %s that verify accepts', async (_, message) => {
    expect(await run(['sign', '-', ...KEY, '--message'], message)).toBe(0);
    expect(await run(['verify', '-', ...KEY], out.join('\n'))).toBe(0);
  });

  test('exits 2 for input that cannot be signed', async () => {
    expect(await run(['sign', '-', ...KEY, '--key-id', 'bind'], UNSIGNED)).toBe(2);
    expect(err.join('\n')).toContain('this cannot be signed');
  });
});

describe('vectors', () => {
  test('prints all sets, one, or the vectors of a name', async () => {
    await run(['vectors']);
    await run(['vectors', 'tickets']);
    await run(['vectors', 'with a body']);
    const [all, set, one] = out.map((text) => JSON.parse(text) as Record<string, unknown>);
    expect(Object.keys(all ?? {})).toEqual([
      'request-signatures',
      'tickets',
      'content-digests',
      'sealed',
      'recipients',
      'request-rules',
      'approvals',
      'published',
    ]);
    expect(set).toEqual(all?.['tickets']);
    expect(one).toMatchObject({ set: 'request-signatures', name: 'with a body', expect: 'accept' });
  });

  test('exits 2 for an unknown name', async () => {
    expect(await run(['vectors', 'no such vector'])).toBe(2);
    expect(err.join('\n')).toContain('no vector and no set is called no such vector');
  });
});
