import { expect, test } from 'vitest';
import { ACCOUNT_PLAYS } from './account-plays.ts';
import { ADDRESS_PLAYS } from './address-plays.ts';
import { CLIENT_CONTEXT_PLAYS, CLIENT_PLAYS } from './client-plays.ts';
import { ENDPOINT_PLAYS } from './endpoint-plays.ts';
import { ENDPOINT_ROWS } from './endpoint-rows.ts';
import { ERROR_PLAYS } from './error-plays.ts';
import { ERROR_ROWS } from './error-rows.ts';
import { ENVELOPE_PLAYS } from './envelope-plays.ts';
import { EVENT_PLAYS, VERSION_PLAYS } from './event-plays.ts';
import { EVENT_ROWS, VERSION_ROWS } from './event-rows.ts';
import { FLOOR_PLAYS } from './floor-plays.ts';
import { LIMIT_ROWS } from './limit-rows.ts';
import { MCP_AUTH_PLAYS } from './mcp-auth-plays.ts';
import { MCP_ERROR_PLAYS } from './mcp-error-plays.ts';
import { MCP_HISTORY_PLAYS } from './mcp-history-plays.ts';
import { MCP_LIMIT_PLAYS } from './mcp-limit-plays.ts';
import { MCP_METHOD_PLAYS } from './mcp-method-plays.ts';
import { MCP_ROWS } from './mcp-rows.ts';
import { MCP_STATE_PLAYS } from './mcp-state-plays.ts';
import { MCP_TOOL_PLAYS } from './mcp-tool-plays.ts';
import { OTHER_PLAYS } from './other-plays.ts';
import { POLICY_PLAYS } from './policy-plays.ts';
import { POLICY_ROWS } from './policy-rows.ts';
import { PROXY_ERROR_PLAYS } from './proxy-error-plays.ts';
import { PROXY_LIMIT_PLAYS } from './proxy-limit-plays.ts';
import { PROXY_PLAYS } from './proxy-plays.ts';
import { PROXY_ROWS } from './proxy-rows.ts';
import { quotedLines } from './quoted-lines.ts';
import type { Row } from './row.ts';
import { SERVICE_PLAYS } from './service-plays.ts';
import { STATE_PLAYS } from './state-plays.ts';
import { STATE_ROWS } from './state-rows.ts';
import { WEBHOOK_PLAYS } from './webhook-plays.ts';
import { ENVELOPE_ROWS, SERVICE_ROWS, WEBHOOK_ROWS } from './webhook-rows.ts';

const sections = [
  [
    'Limits',
    LIMIT_ROWS,
    [FLOOR_PLAYS, ACCOUNT_PLAYS, ADDRESS_PLAYS, OTHER_PLAYS, MCP_LIMIT_PLAYS, PROXY_LIMIT_PLAYS],
  ],
  ['Errors', ERROR_ROWS, [ERROR_PLAYS, MCP_ERROR_PLAYS, PROXY_ERROR_PLAYS, CLIENT_PLAYS]],
  [
    'The MCP endpoint, its tools and its authentication',
    MCP_ROWS,
    [MCP_METHOD_PLAYS, MCP_TOOL_PLAYS, MCP_HISTORY_PLAYS, MCP_AUTH_PLAYS],
  ],
  ['The MCP proxy and its key', PROXY_ROWS, [PROXY_PLAYS]],
  ['Other service endpoints', ENDPOINT_ROWS, [ENDPOINT_PLAYS]],
  ['Service to webhook', SERVICE_ROWS, [SERVICE_PLAYS, CLIENT_CONTEXT_PLAYS]],
  ['ABAC policy', POLICY_ROWS, [POLICY_PLAYS]],
  ['Webhook endpoints', WEBHOOK_ROWS, [WEBHOOK_PLAYS]],
  ['Credential envelope and token types', ENVELOPE_ROWS, [ENVELOPE_PLAYS]],
  ['Events', EVENT_ROWS, [EVENT_PLAYS]],
  ['Versioning', VERSION_ROWS, [VERSION_PLAYS]],
  ['States and transitions', STATE_ROWS, [STATE_PLAYS, MCP_STATE_PLAYS]],
] as const;
const rows: readonly Row[] = sections.flatMap(([, each]) => Object.values(each));

test.each(sections)('every row of “%s” is played once', (_section, each, plays) => {
  const played = plays.flatMap((some) => Object.keys(some));
  expect(played.toSorted()).toEqual(Object.keys(each).toSorted());
});

const partsOf = ({ says }: Row): readonly string[] =>
  says
    .split('…')
    .map((part) => part.trim())
    .filter((part) => part !== '');

test('the rows are quoted word for word', () => {
  const lines = quotedLines();
  const misquoted = rows.flatMap((row) =>
    partsOf(row)
      .filter(
        (part) => lines.filter(({ under, text }) => under === row.under && text.includes(part)).length !== 1,
      )
      .map((part) => `${row.under}: ${part}`),
  );
  expect(misquoted).toEqual([]);
});

test('nothing that the specification says there is left out', () => {
  const leftOut = quotedLines().flatMap(({ under, text }) => {
    const said = new Set<number>();
    for (const part of rows.filter((row) => row.under === under).flatMap(partsOf)) {
      const start = text.indexOf(part);
      if (start !== -1) for (let at = start; at < start + part.length; at++) said.add(at);
    }
    const rest = [...text].map((letter, at) => (said.has(at) ? ' ' : letter)).join('');
    return /\w/.test(rest) ? [`${under}: ${text} — not said: ${rest.trim()}`] : [];
  });
  expect(leftOut).toEqual([]);
});
