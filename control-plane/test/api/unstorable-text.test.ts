import { toBase64url, utf8 } from '@svault/shared';
import { beforeAll, describe, expect, test } from 'vitest';
import { BASE_URL, type Call, clientOf, signInBy } from '../support/management-service.ts';
import { useService } from '../support/use-service.ts';
import { ERAS, type ToolAnswer, mcpAgentOn, mcpClientOf } from '../support/mcp-steps.ts';
import { WIDE_LIMITS, postOauth } from '../support/oauth-client.ts';

/*
 * PostgreSQL's text has no NUL, and no text has half a surrogate pair: what holds one names nothing and is stored nowhere.
 * Walked on every route, so that a new one is walked too.
 */

const service = useService({
  SV_LIMIT_CLI_LOGIN_BEGIN: '1000000',
  SV_LIMIT_CLI_LOGIN_EXCHANGE: '1000000',
  ...WIDE_LIMITS,
});
let browser: Call;
beforeAll(async () => {
  browser = await signInBy(service, service.running.ownerLink ?? '');
});

interface Schema {
  readonly $ref?: string;
  readonly properties?: Record<string, Schema>;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
}
interface Walked {
  readonly method: string;
  readonly path: string;
  readonly queryNames: readonly string[];
  readonly body: Schema | undefined;
}
interface OpenApiOperation {
  readonly parameters?: readonly { readonly in: string; readonly name: string }[];
  readonly requestBody?: { readonly content: Record<string, { readonly schema: Schema }> };
}

let schemas: Record<string, Schema>;
async function everyOperation(): Promise<readonly Walked[]> {
  const document = (await service.anyone('GET', '/api/openapi.json')).json as {
    readonly paths: Record<string, Record<string, OpenApiOperation>>;
    readonly components?: { readonly schemas?: Record<string, Schema> };
  };
  schemas = document.components?.schemas ?? {};
  return Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, { parameters = [], requestBody }]) => ({
      method: method.toUpperCase(),
      path,
      queryNames: parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name),
      body: requestBody?.content['application/json']?.schema,
    })),
  );
}

/** Bodies of a schema with `text` in one place each, as far as the schema names places. */
function* bodiesWith(text: string, schema: Schema, depth = 0): Generator<unknown> {
  const named = schemas[schema.$ref?.split('/').at(-1) ?? ''];
  if (named !== undefined) return yield* bodiesWith(text, named, depth);
  if (depth > 4) return;
  for (const option of [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])])
    yield* bodiesWith(text, option, depth);
  if (schema.items !== undefined) for (const item of bodiesWith(text, schema.items, depth + 1)) yield [item];
  const members = Object.entries(schema.properties ?? {});
  for (const [name, member] of members)
    for (const value of bodiesWith(text, member, depth + 1)) yield { ...sound(schema), [name]: value };
  if (members.length === 0) yield text;
}
/** What else the body says, so that the place in question is the only one that is wrong where that is possible. */
const sound = (schema: Schema): Record<string, unknown> =>
  Object.fromEntries(
    Object.keys(schema.properties ?? {}).flatMap((name) => (name in GOOD ? [[name, GOOD[name]]] : [])),
  );
const GOOD: Readonly<Record<string, unknown>> = {
  name: 'n',
  email: 'someone@example.org',
  role: 'member',
  serviceName: 'github',
  tokenType: 'PlainText',
  enabled: true,
  serviceNames: ['github'],
  tokenUrl: 'https://id.example.org/token',
  clientId: 'a client',
  authMethod: 'client_secret_basic',
  clientSecret: 'a secret',
  rules: [{ type: 'manual_approval' }],
};

const NUL_TEXTS = ['\0', 'agt_AAAAAAAAAAAAAAAAAAAAA\0'];

describe.each([
  ['NUL', NUL_TEXTS],
  ['half a surrogate pair', ['\ud800', 'a\udc00b']],
])('%s', (_what, texts) => {
  test('in a body, wherever a text may stand: refused, and said where it is', async () => {
    let walked = 0;
    for (const { method, path, body } of await everyOperation()) {
      const contents = body === undefined ? [] : texts.flatMap((text) => [...bodiesWith(text, body)]);
      const to = path.replaceAll(/\{\w+\}/g, 'agt_AAAAAAAAAAAAAAAAAAAAAA');
      const answers = contents.map(async (content) => {
        const { status, json } = await service.admin(method, to, { body: content });
        const oneOf = expect.toBeOneOf([400, 401, 404, 422]);
        expect([method, path, content, status]).toEqual([method, path, content, oneOf]);
        expect(json.code).toMatch(/^[A-Z_]+$/);
      });
      await Promise.all(answers);
      walked += answers.length;
    }
    expect(walked).toBeGreaterThan(100);
  });
});

describe('NUL', () => {
  test('in a path: what is not there', async () => {
    for (const { method, path } of (await everyOperation()).filter(({ path: template }) =>
      template.includes('{'),
    ))
      for (const text of NUL_TEXTS) {
        const to = path.replaceAll(/\{\w+\}/g, encodeURIComponent(text));
        const { status } = await service.admin(method, to);
        expect([method, path, status]).toEqual([method, path, expect.toBeOneOf([404, 422])]);
      }
  });

  test('in a query: refused', async () => {
    const cursors = [['\0'], ['a', '\0'], ['\0', '\0', '\0']].map((key) =>
      toBase64url(utf8(JSON.stringify(key))),
    );
    let walked = 0;
    for (const { method, path, queryNames } of await everyOperation()) {
      const to = path.replaceAll(/\{\w+\}/g, 'agt_AAAAAAAAAAAAAAAAAAAAAA');
      for (const name of [...queryNames, 'nobody-knows'])
        for (const text of [...NUL_TEXTS, ...(name === 'cursor' ? cursors : [])]) {
          const { status } = await service.admin(
            method,
            `${to}?${new URLSearchParams({ [name]: text }).toString()}`,
          );
          expect([method, path, name, status]).toEqual([
            method,
            path,
            name,
            expect.toBeOneOf([401, 404, 422]),
          ]);
          walked++;
        }
    }
    expect(walked).toBeGreaterThan(100);
  });

  test('in what signs somebody in, by header or cookie: refused', async () => {
    for (const headers of [
      { authorization: 'Bearer svadmin_%00' },
      { authorization: `Bearer svcli_${'%00'.repeat(14)}A` },
      { cookie: 'svault=%00' },
    ])
      expect((await clientOf(service.running.url, headers)('GET', '/api/me')).status).toBe(401);
  });

  test('in an address or a form of a page: a page of ours that says so', async () => {
    for (const [path, names] of Object.entries({
      '/login': ['returnTo'],
      '/login/link': ['token'],
      '/login/cli': ['request'],
      '/login/oidc': ['returnTo'],
      '/login/password': ['x'],
      '/vault/webhook-bind': ['code', 'webhook_url', 'hmac_hash'],
      '/api/login/oidc': ['returnTo'],
      '/api/login/oidc/callback': ['code', 'state'],
      '/api/mcp-oauth/authorize': ['client_id', 'redirect_uri', 'state'],
    })) {
      const query = new URLSearchParams(Object.fromEntries(names.map((name) => [name, 'a\0']))).toString();
      expect([path, (await browser('GET', `${path}?${query}`)).status]).toEqual([
        path,
        expect.toSatisfy(belowFiveHundred),
      ]);
    }
    for (const [path, fields] of Object.entries({
      '/login': { email: 'a\0@example.org', password: 'b' },
      '/login/link': { token: '\0' },
      '/login/cli': { request: '\0', decision: 'allow' },
      '/login/password': { newPassword: 'a long \0 password', repeated: 'a long \0 password' },
      '/vault/webhook-bind': { code: '\0', webhookUrl: '\0', hmacHash: '\0' },
      '/api/mcp-oauth/authorize': { client_id: 'x', redirect_uri: 'y', agent: '\0', decision: 'allow' },
    })) {
      const headers = { 'content-type': 'application/x-www-form-urlencoded', origin: BASE_URL };
      const { status } = await browser('POST', path, {
        rawBody: new URLSearchParams(fields).toString(),
        headers,
      });
      expect([path, status]).toEqual([path, 400]);
    }
  });

  test('in the name of a service that an agent asks for: no name', async () => {
    const { apiKey } = (await service.admin('POST', '/api/agents', { body: { name: 'a' } })).json;
    const ask = clientOf(service.running.url, { authorization: `Bearer ${apiKey}` });
    for (const name of ['%00', 'a%00b', '%ED%A0%80', '%C0%80'])
      expect([name, (await ask('GET', `/api/agents/credentials?service=${name}`)).status]).toEqual([
        name,
        expect.toBeOneOf([400, 404]),
      ]);
  });
});

describe.each(['\0', 'a\0b', '\ud800', 'a\udc00b'])('%j, at the doors of clients', (text) => {
  test('in what a tool is given: no name, no limit, no cursor', async () => {
    const { apiKey } = await mcpAgentOn(service, 'github');
    const client = mcpClientOf(service, apiKey);
    for (const era of ERAS) {
      for (const tool of ['get_credential', 'show_credential', 'credential_history'])
        // JSON has an escape for each of them; half a pair is refused with the whole message.
        expectRefused(await client.call(era, tool, { service: text }));
      for (const argument of ['limit', 'cursor'])
        expectRefused(await client.call(era, 'credential_history', { service: 'github', [argument]: text }));
      const unknown = await client.request(era, 'tools/list', { cursor: text });
      expect(unknown.status).toBeLessThan(500);
    }
    // A tool's name is in a header too in the other era, which takes no such text.
    expect((await client.call2025(text, {})).answer.json.error.code).toBeOneOf([-32_600, -32_602]);
  });

  const expectRefused = ({ status, content, answer }: ToolAnswer): void => {
    const { error } = answer.json as { error?: { code: number } };
    expect([status, error?.code ?? content.code]).toEqual(
      error === undefined ? [200, 'INVALID_ARGUMENT'] : [400, -32_600],
    );
  };

  test('in a form or a registration: an error of OAuth’s', async () => {
    for (const endpoint of ['token', 'revoke', 'introspect'] as const)
      for (const name of [
        'grant_type',
        'client_id',
        'code',
        'code_verifier',
        'redirect_uri',
        'refresh_token',
        'resource',
        'token',
      ])
        for (const grant of ['authorization_code', 'refresh_token']) {
          const sound = { grant_type: grant, client_id: 'x', code: 'x', refresh_token: 'x', token: 'x' };
          const { status } = await postOauth(service, endpoint, { ...sound, [name]: text });
          expect([endpoint, name, status]).toEqual([endpoint, name, expect.toBeOneOf([200, 400])]);
        }
    const sound = { redirect_uris: ['http://127.0.0.1/callback'], client_name: 'n' };
    for (const [name, value] of Object.entries({
      client_name: text,
      client_uri: text,
      redirect_uris: [`http://127.0.0.1/${text}`],
      scope: text,
      grant_types: [text],
    })) {
      const body = { ...sound, [name]: value };
      const { status, text: said } = await service.anyone('POST', '/api/mcp-oauth/register', { body });
      expect([name, status]).toEqual([name, expect.toBeOneOf([201, 400])]);
      if (status === 201) expect(said).not.toContain(JSON.stringify(text).slice(1, -1));
    }
  });
});

const belowFiveHundred = (status: number): boolean => status < 500;
