import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { type Pair, startPair } from '@svault/compose/pair';
import { tempDir } from '@svault/test-kit/temp-dir';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RawAnswer, rawRequest } from '@svault/test-kit/raw-http';
import { LIMIT_SETTINGS } from '../../src/config/limit-settings.ts';
import { type Operation, operationsOf } from '../support/api-operations.ts';
import { type Call, clientOf } from '../support/management-service.ts';
import { CREDENTIALS, pathFor } from '../support/pair-agents.ts';

/*
 * R7 on the agents', their clients' and the management routes: what no honest client sends. Against a process of its own, whose
 * memory is looked at in the end.
 */

const dir = tempDir();
let pair: Pair;
let admin: Call;
let anyone: Call;
let agentKey: string;
let bodies: readonly Operation[];
let peakBefore: number;
/** As the process sees its own memory: the most that it ever held, in MiB. */
const peakMiB = (): number => {
  const status = readFileSync(`/proc/${pair.process('control-plane').child.pid}/status`, 'utf8');
  return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
};
const CAP = 256 * 1024;
const MIB = 1024 * 1024;
/** What is looked at is what a request gets for its form, however many come from one address. */
const NO_LIMITS = Object.fromEntries(Object.keys(LIMIT_SETTINGS).map((name) => [name, '1000000000']));

beforeAll(async () => {
  pair = await startPair({ dir: dir.path, env: { SV_LOG_LEVEL: 'error', ...NO_LIMITS } });
  anyone = clientOf(pair.controlPlaneUrl);
  admin = clientOf(pair.controlPlaneUrl, { authorization: `Bearer ${pair.adminKey}` });
  const { apiKey, agent } = (
    await admin('POST', '/api/agents', { body: { name: 'builder', mcpEnabled: true } })
  ).json;
  agentKey = apiKey as string;
  await admin('POST', `/api/agents/${agent.id}/grants`, { body: { serviceName: 'github' } });
  bodies = (await operationsOf(anyone)).filter(({ takesBody }) => takesBody);
  // Code paths that honest requests take are warm: what grows from here on, the attacks made grow.
  for (let n = 0; n < 200; n++) await admin('POST', '/api/tokens', { rawBody: 'x'.repeat(CAP - 1) });
  peakBefore = peakMiB();
});
afterAll(async () => {
  await pair.stop();
  dir.remove();
});

const head = (method: string, path: string, ...lines: string[]): string =>
  [
    `${method} ${path} HTTP/1.1`,
    'Host: x',
    `Authorization: Bearer ${pair.adminKey}`,
    'Content-Type: application/json',
    ...lines,
    '',
    '',
  ].join('\r\n');
const send = (...pieces: (string | Uint8Array)[]): Promise<RawAnswer> =>
  rawRequest(pair.controlPlaneUrl, pieces);

/** Chunks without an end; whoever reads them to their end never ends. */
function* endless(start: string): Generator<string | Uint8Array> {
  yield start;
  const chunk = Buffer.from(`10000\r\n${'x'.repeat(65_536)}\r\n`);
  for (;;) yield chunk;
}

describe('a body that is too large', () => {
  test('is refused by its length before a byte of it is read', async () => {
    for (const { method, path } of bodies) {
      const answer = await send(head(method, path, `Content-Length: ${CAP + 1}`));
      expect([path, answer.status]).toEqual([path, 413]);
      expect(answer.text).toContain('"code":"TOO_LARGE"');
      expect(answer.text).toMatch(/^connection: close\r$/im);
    }
  });

  test.each(['9'.repeat(20), '-1', '1e3', '0x10', '1, 1', '', ' '])(
    'is refused with the length %j',
    async (length) => {
      const answer = await send(head('POST', '/api/agents', `Content-Length: ${length}`));
      expect([400, 413]).toContain(answer.status);
    },
  );

  test('is refused at the byte past the cap when it tells no length', async () => {
    for (const { method, path } of bodies)
      expect([
        path,
        (await rawRequest(pair.controlPlaneUrl, endless(head(method, path, 'Transfer-Encoding: chunked'))))
          .status,
      ]).toEqual([path, 413]);
  });

  test('is not waited for where nobody signed in, and where no body belongs', async () => {
    const strangers = head('POST', '/api/agents', 'Transfer-Encoding: chunked').replace(
      pair.adminKey,
      'svadmin_x',
    );
    const asked = `GET ${pathFor('github')} HTTP/1.1\r\nHost: x\r\nx-agent-key: ${agentKey}\r\nTransfer-Encoding: chunked\r\n\r\n`;
    const nowhere = head('POST', '/nowhere', 'Transfer-Encoding: chunked');
    const answers = await Promise.all(
      [strangers, asked, nowhere].map((start) => rawRequest(pair.controlPlaneUrl, endless(start))),
    );
    expect(answers.map(({ status }) => status)).toEqual([401, 307, 404]);
  });

  test('64 without an end at once are all refused', async () => {
    const start = head('POST', '/api/tokens', 'Transfer-Encoding: chunked');
    const answers = await Promise.all(
      Array.from({ length: 64 }, () => rawRequest(pair.controlPlaneUrl, endless(start))),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([413]));
  });

  test('is not unpacked: a gzip bomb is refused as it is', async () => {
    const bomb = gzipSync(Buffer.alloc(100 * MIB), { level: 9 });
    expect(bomb.length).toBeLessThan(CAP);
    for (const coding of ['gzip', 'x-gzip', 'GZIP', 'br', 'deflate', 'gzip, gzip', 'identity, gzip']) {
      const answer = await send(
        head('POST', '/api/agents', `Content-Encoding: ${coding}`, `Content-Length: ${bomb.length}`),
        bomb,
      );
      expect([coding, answer.status, answer.text.includes('INVALID_REQUEST')]).toEqual([coding, 400, true]);
    }
    const chunked = await send(head('POST', '/api/agents', 'Transfer-Encoding: gzip, chunked'), bomb);
    expect(chunked.status).toBe(400);
  });
});

describe('a request that is no valid HTTP', () => {
  test('100,000 headers: 431', async () => {
    const many = Array.from({ length: 100_000 }, (_, n) => `x-${n}: y\r\n`);
    for (const path of [CREDENTIALS, '/api/agents', '/vault/webhook-bind'])
      expect((await send(`GET ${path} HTTP/1.1\r\nHost: x\r\n`, ...many)).status).toBe(431);
  });

  test('one header of 10 MB: 431', async () => {
    expect(
      (
        await send(
          'GET / HTTP/1.1\r\nHost: x\r\nx: ',
          ...Array.from({ length: 160 }, () => 'y'.repeat(65_536)),
        )
      ).status,
    ).toBe(431);
  });

  const post = 'POST /api/agents HTTP/1.1\r\nHost: x\r\n';
  test.each([
    [
      'Content-Length and Transfer-Encoding',
      `${post}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    ],
    [
      'Transfer-Encoding and Content-Length',
      `${post}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n`,
    ],
    ['two lengths', `${post}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello`],
    ['a coding after chunked', `${post}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`],
    ['a coding that is none', `${post}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`],
    ['a space before the colon', `${post}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n`],
    ['a folded header', `${post}X-A: b\r\n Transfer-Encoding: chunked\r\n\r\n`],
    ['a bare CR in a header', `${post}X-A: b\rContent-Length: 5\r\n\r\n`],
    ['a NUL in a header', `${post}X-A: b\0c\r\n\r\n`],
    ['a chunk size that is none', `${post}Transfer-Encoding: chunked\r\n\r\n-1\r\nx\r\n`],
    [
      'a chunk longer than its size',
      `${post}Authorization: Bearer x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxx\r\n0\r\n\r\n`,
    ],
    ['no Host', 'GET /api/agents HTTP/1.1\r\n\r\n'],
    ['a version of its own', 'GET / HTTP/3.7\r\nHost: x\r\n\r\n'],
    ['a method of its own', 'FROB / HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a TLS hello', Buffer.from('16030100a5010000a10303', 'hex')],
  ])('%s', async (_what, bytes) => {
    const answer = await send(bytes);
    // Never two answers, and never one that says it went well.
    expect([400, 401]).toContain(answer.status);
    expect(answer.text.match(/^HTTP\/1\.1 2/gm)).toBeNull();
  });

  test('nothing hides behind a request: what follows a refused one is not served', async () => {
    const smuggled = `GET ${CREDENTIALS} HTTP/1.1\r\nHost: x\r\nx-agent-key: ${agentKey}\r\n\r\n`;
    for (const start of [
      `${post}Content-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`,
      head('POST', '/api/tokens', `Content-Length: ${CAP + 1}`) + smuggled,
      `GET / HTTP/1.1\r\nHost: x\r\nx: ${'y'.repeat(20_000)}\r\n\r\n${smuggled}`,
    ]) {
      const answer = await send(start);
      expect(answer.text.match(/^HTTP\/1\.1 /gm)).toHaveLength(1);
      expect(answer.text).not.toContain('grants');
    }
  });

  test('targets that are no paths of ours', async () => {
    for (const target of [
      'http://evil.example/api/agents/credentials',
      '//evil.example/api/agents',
      '/api/../api/agents',
      '/api/agents%2fcredentials',
      '/api\\agents',
      '*',
      '/%00',
      '/%',
      `/${'a/'.repeat(4_000)}`,
    ]) {
      const { status, text } = await send(`GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`);
      expect([target, [400, 401, 404].includes(status)]).toEqual([target, true]);
      expect(text).not.toMatch(/^location:/im);
    }
  });

  test('a CONNECT and an Upgrade get no tunnel', async () => {
    expect((await send('CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: x\r\n\r\n')).text).not.toMatch(
      /^HTTP\/1\.1 2/,
    );
    const upgrade = head(
      'GET',
      '/api/agents',
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Key: eA==',
      'Sec-WebSocket-Version: 13',
    );
    expect((await send(upgrade)).status).not.toBe(101);
  });
});

describe('a header that occurs twice', () => {
  const twice = (path: string, ...lines: string[]): Promise<RawAnswer> =>
    send([`GET ${path} HTTP/1.1`, 'Host: x', ...lines, '', ''].join('\r\n'));

  test("an agent's key: refused, in whatever order and spelling", async () => {
    for (const lines of [
      [`Authorization: Bearer ${agentKey}`, 'Authorization: Bearer svagent_x'],
      ['Authorization: Bearer svagent_x', `Authorization: Bearer ${agentKey}`],
      [`Authorization: Bearer ${agentKey}`, `authorization: Bearer ${agentKey}`],
      [`x-agent-key: ${agentKey}`, `X-Agent-Key: ${agentKey}`],
      ['Authorization: Basic eDp5', `Authorization: Bearer ${agentKey}`],
    ]) {
      const { status, text } = await twice(pathFor('github'), ...lines);
      expect([lines, status]).toEqual([lines, 403]);
      expect(text).toContain('INVALID_KEY');
    }
  });

  test('an admin key, and the session cookie: refused', async () => {
    for (const lines of [
      [`Authorization: Bearer ${pair.adminKey}`, 'Authorization: Bearer svadmin_x'],
      ['Authorization: Bearer svadmin_x', `Authorization: Bearer ${pair.adminKey}`],
      ['Cookie: svault=a', 'Cookie: svault=b'],
    ])
      expect([lines, (await twice('/api/me', ...lines)).status]).toEqual([lines, 401]);
  });
});

describe('JSON that means harm', () => {
  const sendJson = (operation: Operation, rawBody: string) =>
    admin(operation.method, operation.path, { rawBody, headers: { 'content-type': 'application/json' } });

  test('as deep as a body can be, on every route that takes a body', async () => {
    for (const operation of bodies) {
      // A body of anybody's has 8 KiB at most.
      const levels = operation.isPublic ? 1_000 : 10_000;
      for (const deep of [
        `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`,
        `{"name":${'['.repeat(levels)}${']'.repeat(levels)}}`,
        '['.repeat(8 * levels),
      ]) {
        const answer = await sendJson(operation, deep);
        expect([operation.path, answer.status, answer.json.code]).toEqual([
          operation.path,
          400,
          'INVALID_REQUEST',
        ]);
      }
    }
  });

  test('__proto__ and its relatives, in bodies and queries', async () => {
    for (const operation of bodies) {
      expect((await sendJson(operation, '{"__proto__":{"role":"admin"}}')).status).toBe(400);
      for (const name of ['constructor', 'prototype', 'toString', 'hasOwnProperty']) {
        const { status, json } = await sendJson(operation, JSON.stringify({ [name]: { role: 'admin' } }));
        expect([operation.path, name, status, json.code]).toEqual([
          operation.path,
          name,
          422,
          'INVALID_ARGUMENT',
        ]);
      }
    }
    for (const query of [
      '__proto__=1',
      '__proto__[role]=admin',
      'constructor=1',
      'limit[]=1',
      'limit=__proto__',
    ])
      expect([query, (await admin('GET', `/api/agents?${query}`)).status]).toEqual([query, 422]);
    expect(Reflect.has({}, 'role')).toBe(false);
  });

  test('members that nobody knows: named, on every route that takes a body', async () => {
    for (const operation of bodies) {
      const { status, json } = await sendJson(operation, '{"isAdmin":true,"vaultId":"vlt_x"}');
      expect([operation.path, status]).toEqual([operation.path, 422]);
      expect(json.issues.map(({ path }: { path: string }) => path)).toEqual(
        expect.arrayContaining(['isAdmin', 'vaultId']),
      );
    }
  });

  test('a megabyte of names twice, numbers beyond 2^53, lone surrogates and bytes that are no UTF-8', async () => {
    for (const operation of bodies)
      for (const rawBody of [
        '{"a":1,"a":2}',
        '{"a":1e400}',
        '{"a":9007199254740993}',
        '{"a":"\\ud800"}',
        '\uFEFF{}',
        '{}{}',
        'null',
        '7',
        '"x"',
        '[]',
      ])
        expect((await sendJson(operation, rawBody)).status).toBeOneOf([400, 422]);
  });

  test('whatever it is: never a 5xx, always a code of ours', async () => {
    const value = fc.jsonValue({ maxDepth: 4 });
    const names = fc.constantFrom(
      'name',
      'description',
      'serviceName',
      'tokenType',
      'tags',
      'expiresInSeconds',
      'grantExpiresAt',
      'refreshPolicy',
      'mcpEnabled',
      'code',
      'webhookUrl',
      'hmacHash',
      'jkt',
      'token',
      'notes',
    );
    const body = fc.oneof(fc.dictionary(names, value), value);
    await fc.assert(
      fc.asyncProperty(fc.nat(), body, async (pick, content) => {
        const operation = bodies[pick % bodies.length] as Operation;
        const { status, json } = await sendJson(operation, JSON.stringify(content));
        expect(status).toBeLessThan(500);
        if (status >= 400)
          expect(json).toMatchObject({ error: expect.any(String), code: expect.stringMatching(/^[A-Z_]+$/) });
      }),
      { numRuns: 300 },
    );
  });

  test('service names that are none, wherever a name is taken', async () => {
    const { id } = (await admin('POST', '/api/agents', { body: { name: 'names' } })).json.agent;
    for (const serviceName of ['a/b', '', 'a\0b', 'x'.repeat(10_240), '..', ' a', null, 7, ['a'], { a: 1 }]) {
      for (const [path, body] of [
        [`/api/agents/${id}/grants`, { serviceName }],
        ['/api/tokens', { serviceName, tokenType: 'PlainText' }],
      ] as const)
        expect([path, serviceName, (await admin('POST', path, { body })).status]).toEqual([
          path,
          serviceName,
          422,
        ]);
      const inPath = encodeURIComponent(typeof serviceName === 'string' ? serviceName : '%');
      for (const path of [`/api/tokens/${inPath}`, `/api/agents/${id}/grants/${inPath}`])
        expect((await admin('DELETE', path)).status).toBeOneOf([404, 405, 422, 431]);
    }
  });
});

describe('at the doors of clients', () => {
  const FORM = 'application/x-www-form-urlencoded';
  const KIB = 1024;
  const CLIENT_DOORS = [
    ['/api/agents/mcp', 1024 * KIB, 'application/json'],
    ['/api/mcp-oauth/register', 16 * KIB, 'application/json'],
    ['/api/mcp-oauth/token', 16 * KIB, FORM],
    ['/api/mcp-oauth/revoke', 16 * KIB, FORM],
    ['/api/mcp-oauth/introspect', 16 * KIB, FORM],
  ] as const;
  const start = (path: string, type: string, ...lines: string[]): string =>
    [
      `POST ${path} HTTP/1.1`,
      'Host: 127.0.0.1',
      // The endpoints of OAuth refuse one before they read (RFC 6749 section 5.2).
      ...(path.startsWith('/api/mcp-oauth/') ? [] : [`Authorization: Bearer ${agentKey}`]),
      `Content-Type: ${type}`,
      ...lines,
      '',
      '',
    ].join('\r\n');

  test.each(CLIENT_DOORS)('%s has a cap, told or not', async (path, cap, type) => {
    const told = await send(start(path, type, `Content-Length: ${cap + 1}`));
    expect(told.status).toBe(413);
    expect(told.text).toMatch(/^connection: close\r$/im);
    const untold = start(path, type, 'Transfer-Encoding: chunked');
    expect((await rawRequest(pair.controlPlaneUrl, endless(untold))).status).toBe(413);
  });

  test.each(CLIENT_DOORS)('%s unpacks nothing', async (path, _cap, type) => {
    const bomb = gzipSync(Buffer.alloc(8 * MIB), { level: 9 });
    for (const coding of ['gzip', 'br', 'identity, gzip']) {
      const lines = [`Content-Encoding: ${coding}`, `Content-Length: ${bomb.length}`];
      expect([coding, (await send(start(path, type, ...lines), bomb)).status]).toEqual([
        coding,
        expect.toBeOneOf([400, 415]),
      ]);
    }
  });

  test('a stranger’s body without an end is not waited for', async () => {
    const stranger = start('/api/agents/mcp', 'application/json', 'Transfer-Encoding: chunked');
    const answer = await rawRequest(
      pair.controlPlaneUrl,
      endless(stranger.replace(agentKey, 'svagent_nobody')),
    );
    expect(answer.status).toBe(401);
  });

  test('a key or token that occurs twice is none, in whatever order and spelling', async () => {
    for (const lines of [
      [`Authorization: Bearer ${agentKey}`, 'Authorization: Bearer svsess_x'],
      ['Authorization: Bearer svsess_x', `authorization: Bearer ${agentKey}`],
      [`Authorization: Bearer ${agentKey}`, `Authorization: Bearer ${agentKey}`],
      ['Authorization: Basic eDp5', `Authorization: Bearer ${agentKey}`],
    ]) {
      const request = [
        'POST /api/agents/mcp HTTP/1.1',
        'Host: 127.0.0.1',
        ...lines,
        'Content-Length: 2',
        '',
        '{}',
      ];
      expect([lines, (await send(request.join('\r\n'))).status]).toEqual([lines, 401]);
    }
  });

  test('whatever a form says: never a 5xx, always an error of OAuth’s', async () => {
    const names = fc.constantFrom(
      ...['grant_type', 'client_id', 'code', 'code_verifier', 'redirect_uri', 'refresh_token', 'token'],
      ...['resource', 'scope', 'token_type_hint', '__proto__', 'constructor', 'toString', ''],
    );
    const known = fc.constantFrom(
      'authorization_code',
      'refresh_token',
      'https://127.0.0.1:1/client',
      'svsess_',
    );
    const value = fc.oneof(known, fc.string({ unit: 'binary' }), fc.string());
    const pairs = fc.array(fc.tuple(names, value), { maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(fc.constantFrom('token', 'revoke', 'introspect'), pairs, async (name, fields) => {
        const rawBody = new URLSearchParams(fields.map(([key, text]): [string, string] => [key, text]));
        const { status, json } = await anyone('POST', `/api/mcp-oauth/${name}`, {
          rawBody: rawBody.toString(),
          headers: { 'content-type': FORM },
        });
        expect([200, 400]).toContain(status);
        if (status === 400) expect(json.error).toMatch(/^[a-z_]+$/);
        else expect(json).toEqual(name === 'revoke' ? {} : { active: false });
      }),
      { numRuns: 200 },
    );
  });

  test('whatever a client says of itself: registered, or an error of OAuth’s', async () => {
    const names = fc.constantFrom(
      ...['redirect_uris', 'client_name', 'client_uri', 'grant_types', 'response_types', 'scope'],
      ...['token_endpoint_auth_method', 'logo_uri', 'jwks', 'software_statement', 'constructor'],
    );
    const uris = fc.array(fc.oneof(fc.webUrl(), fc.constant('http://127.0.0.1/callback'), fc.string()));
    const value = fc.oneof(fc.jsonValue({ maxDepth: 4 }), uris);
    await fc.assert(
      fc.asyncProperty(fc.dictionary(names, value), async (body) => {
        const { status, json } = await anyone('POST', '/api/mcp-oauth/register', { body });
        if (status === 201) expect(json.client_id).toMatch(/^ocl_/);
        else expect([status, json.error]).toEqual([400, expect.stringMatching(/^invalid_/)]);
      }),
      { numRuns: 200 },
    );
  });
});

describe('after all of that', () => {
  test('it serves as before, and its memory has not grown with what it was sent', async () => {
    expect((await anyone('GET', pathFor('github'), { headers: { 'x-agent-key': agentKey } })).status).toBe(
      307,
    );
    // Bodies without an end and 100 MiB packed were offered; what is left is room for a collector in no hurry.
    expect(peakMiB() - peakBefore).toBeLessThan(128);
  });
});
