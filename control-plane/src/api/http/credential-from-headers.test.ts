import { hashKey, newKey } from '@svault/shared';
import type { IncomingMessage } from 'node:http';
import { expect, it } from 'vitest';
import { credentialFromHeaders, presentedToken, proxyKeyFromHeaders } from './credential-from-headers.ts';

/** A request with these headers, as Node gives them: the first `Authorization`, `x-` ones joined. */
function request(...pairs: readonly [string, string][]): IncomingMessage {
  const headers: Record<string, string> = {};
  for (const [name, value] of pairs) {
    const known = headers[name.toLowerCase()];
    if (known === undefined) headers[name.toLowerCase()] = value;
    else if (name.toLowerCase() !== 'authorization') headers[name.toLowerCase()] = `${known}, ${value}`;
  }
  return { headers, rawHeaders: pairs.flat() } as unknown as IncomingMessage;
}

it.each([
  ['no header', [], undefined],
  ['Bearer', [['Authorization', 'Bearer svagent_a']], 'svagent_a'],
  ['Bearer in any case', [['authorization', 'bEARER  svagent_a']], 'svagent_a'],
  ['Bearer without a key', [['Authorization', 'Bearer']], undefined],
  [
    'Bearer without a key, with x-agent-key',
    [
      ['Authorization', 'Bearer '],
      ['X-Agent-Key', 'svagent_b'],
    ],
    '',
  ],
  ['another scheme', [['Authorization', 'Basic eA==']], undefined],
  ['a scheme that only begins like Bearer', [['Authorization', 'Bearerer x']], undefined],
  [
    'another scheme with x-agent-key',
    [
      ['Authorization', 'Basic eA=='],
      ['X-Agent-Key', 'svagent_b'],
    ],
    'svagent_b',
  ],
  [
    'both',
    [
      ['X-Agent-Key', 'svagent_b'],
      ['Authorization', 'Bearer svagent_a'],
    ],
    'svagent_a',
  ],
  ['an empty x-agent-key', [['x-agent-key', '']], undefined],
  [
    'Authorization twice',
    [
      ['Authorization', 'Bearer svagent_a'],
      ['AUTHORIZATION', 'Bearer svagent_a'],
    ],
    '',
  ],
  [
    'x-agent-key twice',
    [
      ['x-agent-key', 'svagent_a'],
      ['x-agent-key', 'svagent_a'],
    ],
    'svagent_a, svagent_a',
  ],
] as [string, [string, string][], string | undefined][])('%s', (_name, pairs, key) => {
  expect(credentialFromHeaders(request(...pairs), 'x-agent-key')).toBe(key);
  // A proxy's, by its own header.
  const ofProxy = pairs.map(([name, value]): [string, string] => [
    name.replace(/x-agent-key/i, 'x-mcp-key'),
    value,
  ]);
  expect(credentialFromHeaders(request(...ofProxy), 'x-mcp-key')).toBe(key);
});

it('the header of the other kind of key is ignored', () => {
  expect(credentialFromHeaders(request(['x-agent-key', 'svagent_a']), 'x-mcp-key')).toBeUndefined();
  expect(credentialFromHeaders(request(['x-mcp-key', 'mcp_a']), 'x-agent-key')).toBeUndefined();
});

it('the key is the access key id of an AWS signature, found in linear time whatever precedes it', () => {
  const keyIn = (authorization: string) =>
    proxyKeyFromHeaders(request(['Authorization', `AWS4-HMAC-SHA256 ${authorization}`]));
  for (const before of ['', '  ', 'SignedHeaders=host, ', 'SignedHeaders=host,', ' '.repeat(200_000)])
    expect(keyIn(`${before}Credential=mcp_a/20261120/eu-west-1/s3/aws4_request, Signature=0`)).toBe('mcp_a');
  for (const other of [
    '',
    ' '.repeat(200_000),
    'XCredential=mcp_a/',
    'Credential=/',
    ' Credential=a'.repeat(20_000),
  ])
    expect(keyIn(other)).toBeUndefined();
});

const AUDIENCE = 'https://vault.example.com/api/agents/mcp';

const presented = (...values: string[]) =>
  presentedToken(
    {
      headers: { authorization: values[0] },
      rawHeaders: values.flatMap((value) => ['Authorization', value]),
    } as unknown as IncomingMessage,
    AUDIENCE,
  );

it('presentedToken takes an agent key and an access token of this audience', () => {
  const [key, token] = [newKey('svagent'), newKey('svsess')];
  expect(presented(`bEARER   ${key}`)).toEqual({
    kind: 'key',
    hash: hashKey(key),
    prefix: `${key.slice(0, 'svagent_'.length + 4)}…`,
  });
  const prefix = `${token.slice(0, 'svsess_'.length + 4)}…`;
  const session = { kind: 'session', hash: hashKey(token), prefix, audience: AUDIENCE };
  expect(presented(`Bearer ${token}`)).toEqual(session);
});

it.each(['Basic eA==', 'Bearerer x', 'svagent_x', 'Bearer', 'Bearer ', ''])(
  'Authorization: %j has no token',
  (value) => {
    expect(presented(value)).toBe('MISSING_KEY');
    expect(presented()).toBe('MISSING_KEY');
  },
);

it.each(['Bearer x', `Bearer ${newKey('svadmin')}`, `Bearer ${newKey('svsessr')}`])(
  'Authorization: %j is malformed',
  (value) => expect(presented(value)).toBe('INVALID_KEY'),
);

it('two Authorization headers are malformed', () => {
  const key = `Bearer ${newKey('svagent')}`;
  expect(presented(key, key)).toBe('INVALID_KEY');
});
