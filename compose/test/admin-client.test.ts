import { expect, test } from 'vitest';
import { createAdminClient } from '../src/admin-client.ts';

test('an error message names the problem of each member', async () => {
  const issues = [{ path: 'webhookUrl', message: 'is an address that this service must not call' }];
  const send = async (): Promise<Response> =>
    Response.json({ error: 'Not so.', code: 'INVALID_ARGUMENT', issues }, { status: 422 });
  const admin = createAdminClient('http://127.0.0.1:1', 'key', send);
  await expect(admin.call('POST', '/api/webhook/bind', {})).rejects.toThrow(
    'POST /api/webhook/bind answered 422 INVALID_ARGUMENT: Not so. webhookUrl is an address that this service must not call.',
  );
});
