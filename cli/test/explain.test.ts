import { WEBHOOK_ERROR_STATUS } from '@svault/shared';
import { CONTROL_PLANE_ERRORS, statusByCode } from '@svault/shared/error-catalog';
import { afterAll, describe, expect, test } from 'vitest';
import type { ExplainedCode } from '../src/commands/explain/explained-codes.ts';
import { commandLine } from './command-line.ts';

const person = commandLine();
afterAll(() => person.remove());

async function explained(...args: string[]): Promise<readonly ExplainedCode[]> {
  const { code, out, err } = await person.svault(['explain', ...args, '--format', 'json']);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return JSON.parse(out) as ExplainedCode[];
}

const usualStatuses = async (by: string): Promise<object> =>
  Object.fromEntries(
    (await explained()).filter((each) => each.by === by).map(({ code, statuses }) => [code, statuses[0]]),
  );

test('every code of the control plane and of the webhook is there, with its status', async () => {
  expect(await usualStatuses('service')).toEqual(statusByCode(CONTROL_PLANE_ERRORS));
  expect(await usualStatuses('webhook')).toEqual(WEBHOOK_ERROR_STATUS);
});

test('the results of MCP tools are marked', async () => {
  const marked = (await explained()).filter(({ mcpTool }) => mcpTool).map(({ code }) => code);
  expect(marked).toEqual([
    'APPROVAL_REQUIRED',
    'GRANT_EXPIRED',
    'INVALID_ARGUMENT',
    'NO_GRANT',
    'POLICY_DENIED',
    'RATE_LIMITED',
    'VAULT_LOCKED',
    'WEBHOOK_NOT_CONFIGURED',
    'WEBHOOK_UNAVAILABLE',
  ]);
});

test('each says what it means and what to do, in whole sentences', async () => {
  for (const { code, meaning, remedy } of await explained())
    for (const text of [meaning, remedy]) expect(text, code).toMatch(/^\S.*[.]$/);
});

test('every side that says a code is explained', async () => {
  const { out } = await person.svault(['explain', 'not-found']);
  expect(out).toMatch(
    /^NOT_FOUND \(the control plane; HTTP 404\)\n.+\n.+\n\nNOT_FOUND \(the webhook; HTTP 404\)\n.+\n.+\n$/,
  );
});

describe('a number is', () => {
  test('an exit code', async () => {
    expect(await explained('7')).toEqual([expect.objectContaining({ code: '7', by: 'svault' })]);
  });

  test('an HTTP status, for all codes that come with it', async () => {
    const codes = (await explained('429')).map(({ by, code }) => `${by} ${code}`);
    expect(codes).toEqual([
      'service POLICY_DENIED',
      'service RATE_LIMITED',
      'webhook RATE_LIMITED',
      'json-rpc -32029',
    ]);
  });

  test('a code of JSON-RPC, whose minus would be a flag', async () => {
    expect(await explained('32029')).toMatchObject([{ code: '-32029' }]);
  });
});

test('names are each there once', async () => {
  const { out } = await person.svault(['explain', '--format', 'name']);
  const names = out.trim().split('\n');
  expect(new Set(names).size).toBe(names.length);
  expect(names).toEqual(expect.arrayContaining(['NOT_FOUND', 'invalid_grant', '-32029', '130']));
});

test.each([
  ['TICKET_LOST', 'there is no code TICKET_LOST; like it: TICKET_INVALID'],
  ['invalid', 'there is no code invalid; like it: INVALID_ARGUMENT, '],
  ['nonsense', 'there is no code nonsense; svault explain lists all'],
  ['', 'there is no code ; svault explain lists all'],
  ['\u001B[31m', 'there is no code  [31m; svault explain lists all'],
])('%j is none: exit 2', async (typed, said) => {
  const { code, out, err } = await person.svault(['explain', typed]);
  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect(err).toContain(`error: ${said}`);
});
