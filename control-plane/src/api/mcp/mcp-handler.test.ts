import { createOriginReader } from '../http/request-origin.ts';
import express from 'express';
import { errorHandler } from '@svault/server-kit/error-handler';
import { type Listener, listen } from '@svault/server-kit/listener';
import { silentLogger } from '@svault/server-kit/logger';
import { newKey } from '@svault/shared';
import { afterEach, expect, it } from 'vitest';
import type { Access, AccessRequest } from '../../access/decision.ts';
import { ApiError } from '../../core/errors.ts';
import { ERROR_STATUS } from '../http/errors.ts';
import { MCP_PATH, createMcpHandler } from './mcp-handler.ts';
import { createTools } from './routes.ts';

// The calls to the access pipeline, and its failures.

const BASE_URL = 'https://vault.example.com';
let listener: Listener | undefined;
afterEach(() => listener?.close());

async function serve(access: Access): Promise<string> {
  const never = (): never => {
    throw new Error('no tool is reached');
  };
  const app = express();
  app.all(
    MCP_PATH,
    createMcpHandler({
      access,
      tools: createTools({ describeGrants: never, readProfile: never, readHistory: never }),
      originOf: createOriginReader(() => '192.0.2.1'),
      isOwnHost: () => true,
      baseUrl: BASE_URL,
      allowedOrigins: [],
    }),
  );
  app.use(
    errorHandler({
      statusOf: ERROR_STATUS,
      storageFailure: 'UNAVAILABLE',
      internal: 'INTERNAL',
      logger: silentLogger,
    }),
  );
  listener = await listen(app, { host: '127.0.0.1', port: 0 });
  return listener.url + MCP_PATH;
}

const call = (url: string, body: object): Promise<Response> =>
  fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${newKey('svsess')}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

it('a request is authorised once, for the MCP channel and the audience of this endpoint', async () => {
  const asked: AccessRequest[] = [];
  const url = await serve({
    decide: (request) => {
      asked.push(request);
      return Promise.resolve({ outcome: 'denied', denial: { code: 'INVALID_KEY' } });
    },
  });
  const params = { name: 'get_credential', arguments: { service: 'github' } };
  expect((await call(url, { jsonrpc: '2.0', id: 1, method: 'tools/call', params })).status).toBe(401);
  expect(asked).toEqual([
    {
      credential: {
        kind: 'session',
        hash: expect.any(String),
        prefix: expect.stringMatching(/^svsess_[\w-]{4}…$/),
        audience: BASE_URL + MCP_PATH,
      },
      channel: 'mcp',
      operation: { kind: 'credential', serviceName: 'github' },
      origin: {
        requestId: expect.stringMatching(/^req_/),
        channel: 'mcp',
        address: '192.0.2.1',
        authenticatedBy: expect.stringMatching(/^svsess_[\w-]{4}…$/),
        userAgent: 'node',
      },
    },
  ]);
});

it('a decision that cannot be recorded is 503 with Retry-After', async () => {
  const url = await serve({
    decide: () => Promise.reject(new ApiError('AUDIT_UNAVAILABLE', 'later', { details: { retryAfter: 1 } })),
  });
  const answer = await call(url, { jsonrpc: '2.0', id: 1, method: 'ping' });
  expect(answer.status).toBe(503);
  const requestId = answer.headers.get('x-request-id');
  const body = { error: 'later', code: 'AUDIT_UNAVAILABLE', retryAfter: 1, requestId };
  expect(await answer.json()).toEqual(body);
  expect(answer.headers.get('retry-after')).toBe('1');
  expect(answer.headers.get('cache-control')).toBe('no-store');
  expect(answer.headers.get('strict-transport-security')).toContain('max-age');
});

it('an internal error reveals nothing about its cause', async () => {
  const url = await serve({ decide: () => Promise.reject(new Error('SQLITE_BUSY at /var/lib/x.db')) });
  const answer = await call(url, { jsonrpc: '2.0', id: 1, method: 'ping' });
  expect(answer.status).toBe(500);
  expect(await answer.text()).not.toContain('SQLITE');
});
