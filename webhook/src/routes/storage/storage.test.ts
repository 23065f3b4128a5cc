import Database from 'better-sqlite3';
import express from 'express';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Listener, listen } from '@svault/server-kit/listener';
import { readBody } from '@svault/server-kit/raw-body';
import { silentLogger } from '@svault/server-kit/logger';
import { createRefusalReader } from '@svault/server-kit/error-handler';
import { WEBHOOK_ERROR_STATUS } from '@svault/shared';
import { createStorageRoute } from './storage.ts';

const FAILURES: Readonly<Record<string, Error>> = {
  full: new Database.SqliteError('database or disk is full', 'SQLITE_FULL'),
  broken: new Error('a mistake that names the-canary'),
};

let listener: Listener;
beforeEach(async () => {
  const storage = createStorageRoute({
    receiveRequest: async (req, options) => ({ keyId: 'k1', body: await readBody(req, options) }),
    runOperation: (operation) => {
      const failure = 'serviceName' in operation ? FAILURES[operation.serviceName ?? ''] : undefined;
      return failure === undefined ? Promise.resolve({ deleted: true }) : Promise.reject(failure);
    },
    synced: () => undefined,
    refusalOf: createRefusalReader({
      statusOf: WEBHOOK_ERROR_STATUS,
      storageFailure: 'UNAVAILABLE',
      internal: 'INTERNAL',
    }),
    logger: silentLogger,
  });
  listener = await listen(express().use(storage), { host: '127.0.0.1', port: 0 });
});
afterEach(() => listener.close());

describe('a batch', () => {
  it('has status 200 with a result for each operation, including one that fails in the webhook', async () => {
    const batch = ['full', 'broken', 'fine'].map((serviceName) => ({ op: 'tokens.delete', serviceName }));
    const response = await fetch(`${listener.url}/v1/storage`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ batch }),
    });
    expect(response.status).toBe(200);
    const requestId = response.headers.get('x-request-id');
    const text = await response.text();
    expect(text).not.toContain('the-canary');
    expect(JSON.parse(text)).toEqual({
      results: [
        { error: expect.any(String), code: 'UNAVAILABLE', retryAfter: 5, requestId },
        { error: expect.any(String), code: 'INTERNAL', requestId },
        { deleted: true },
      ],
    });
  });
});
