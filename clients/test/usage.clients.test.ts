/** What both clients are given that they cannot use. */
import { describe, expect, test } from 'vitest';
import { type Call, PACKED_CLIENTS } from './support/packed-clients.ts';
import { GET, SECRET, SVAULT_KEY, targets, useInstalled, useRogues } from './support/rogue-pair.ts';

describe.each(PACKED_CLIENTS)('$name', (client) => {
  const { missing, drive, run } = useInstalled(client);
  const { pairOf } = useRogues();

  const key = { kty: 'OKP', crv: 'X25519', x: 'A'.repeat(43), d: 'B'.repeat(43) };
  test.skipIf(missing).each<[string, NonNullable<Call['options']>]>([
    ['plain http to another machine', { base_url: 'http://example.org' }],
    ['an address with a user', { base_url: `https://${SECRET}@example.org` }],
    ['an address with a query', { base_url: `https://example.org/?${SECRET}` }],
    ['a webhook of plain http', { webhook_url: `http://example.org/${SECRET}` }],
    ['an admin key', { key: `svadmin_${SECRET}` }],
    ['no time for a request', { key: SECRET, timeout: 0 }],
    ['a negative wait', { key: SECRET, max_wait: -1 }],
    ['sealed deliveries alone and no key for them', { key: SECRET, require_sealed: true }],
    ['a key with a line break', { key: `svagent_${SECRET}\r\nx-a: b` }],
    ['a sealing key that is no key', { sealing_key: { kty: 'EC', crv: 'P-256', x: SECRET } }],
    ['a sealing key with the public part of another', { sealing_key: key }],
    ['a sealing key that is no JSON', { sealing_key: SECRET }],
  ])('is not made with %s, and does not repeat it', async (_what, options) => {
    const [outcome] = await run([{ ...GET, options }], { SVAULT_BASE_URL: 'https://127.0.0.1:1' });
    expect(outcome?.error?.name).toBe('UsageError');
    expect(outcome?.shown).not.toContain(SECRET);
  });

  test.skipIf(missing)('is not made without a key, nor without an address', async () => {
    const outcomes = [
      ...(await drive({ SVAULT_BASE_URL: 'https://127.0.0.1:1' }, [GET])),
      ...(await drive({ SVAULT_KEY }, [GET, { call: 'mcp_proxy', key: 'mcp_a' }])),
    ];
    expect(outcomes.map(({ error }) => error?.name)).toEqual(Array(3).fill('UsageError'));
  });

  test.skipIf(missing)('asks for no service without a name', async () => {
    const server = await pairOf(['ticket']);
    const outcomes = await run(
      [
        { call: 'get', service: '' },
        { call: 'get', service: null },
      ],
      {
        SVAULT_BASE_URL: server.url,
      },
    );
    expect(outcomes.map(({ error }) => error?.name)).toEqual(['UsageError', 'UsageError']);
    expect(targets(server)).toEqual([]);
  });

  test.skipIf(missing)('drops the line break after a key, and takes an empty variable as unset', async () => {
    const server = await pairOf(['ticket']);
    const env = { SVAULT_BASE_URL: server.url, SVAULT_WEBHOOK_URL: '', SVAULT_KEY: `${SVAULT_KEY}\r\n` };
    const [outcome] = await drive(env, [GET]);
    expect(outcome?.result?.accessToken).toBe(SECRET);
    expect(server.requests[0]?.authorization).toBe(`Bearer ${SVAULT_KEY}`);
  });
});
