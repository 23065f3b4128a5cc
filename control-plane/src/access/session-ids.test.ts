import type { Id } from '@svault/shared';
import { expect, it } from 'vitest';
import { createSessionIds } from './session-ids.ts';

const ids = createSessionIds(new Uint8Array(32));
const OURS = { proxyId: 'prx_1' as Id<'prx'>, upstreamUrl: 'https://mcp.example.com/' };
const [[, BOUND] = ['', '']] = ids.bind(OURS, [['Mcp-Session-Id', 'the.id']]);
const open = (...shown: readonly string[]) =>
  ids.open(OURS, [['accept', '*/*'], ...shown.map((value) => ['MCP-Session-ID', value] as const)]);

it('a session id is opened for its proxy and upstream, by any process with the key', () => {
  expect(BOUND).toMatch(/^the\.id\.[\w-]{22}$/);
  expect(open(BOUND)).toEqual([
    ['accept', '*/*'],
    ['MCP-Session-ID', 'the.id'],
  ]);
  const shown = [['mcp-session-id', BOUND]] as const;
  expect(createSessionIds(new Uint8Array(32)).open(OURS, shown)).toEqual([['mcp-session-id', 'the.id']]);
  for (const other of [
    { ...OURS, proxyId: 'prx_2' as Id<'prx'> },
    { ...OURS, upstreamUrl: 'https://b.example/' },
  ])
    expect(ids.open(other, shown)).toBeUndefined();
});

it('an empty session id names none, and is not forwarded', () => {
  expect(open('')).toEqual([['accept', '*/*']]);
});

it.each([
  ['the upstream’s own id', ['the.id']],
  ['its id with another MAC', ['the.id.AAAAAAAAAAAAAAAAAAAAAA']],
  ['its id with half a MAC', [BOUND.slice(0, -11)]],
  ['its id with an empty MAC', ['the.id.']],
  ['a MAC alone', ['.AAAAAAAAAAAAAAAAAAAAAA']],
  ['two ids in one field', [`${BOUND}, ${BOUND}`]],
  ['two fields', [BOUND, BOUND]],
])('no session is found by %s', (_what, shown) => {
  expect(open(...shown)).toBeUndefined();
});
