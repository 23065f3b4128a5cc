import type { Pair } from '@svault/compose/pair';
import { requestBytes } from '../requests.ts';
import type { Contender } from '../rounds.ts';
import { SERVICE, makeAgents } from './bench-agents.ts';
import { controlPlaneContender } from './control-plane.ts';

const AGENTS = 100;
const PATH = '/api/agents/mcp';
const ACCEPT = { accept: 'application/json, text/event-stream' };

const CALL = { name: 'get_credential', arguments: { service: SERVICE } };

/** A revision with a handshake, after it, and the one without: what each asks of a `tools/call`. */
const ERAS = {
  handshake: {
    headers: { ...ACCEPT, 'mcp-protocol-version': '2025-11-25' },
    body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: CALL },
  },
  stateless: {
    headers: {
      ...ACCEPT,
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': CALL.name,
    },
    body: {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: {
        ...CALL,
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
          'io.modelcontextprotocol/clientCapabilities': {},
        },
      },
    },
  },
} as const;

/** The MCP endpoint: a credential's address by a tool, in each era of the protocol, and the refusal that clients begin with. */
export async function mcpContenders(pair: Pair) {
  const url = pair.controlPlaneUrl;
  const keys = await makeAgents(pair, AGENTS);
  const contender = (name: string, expectedStatus: number, requests: readonly Buffer[]): Contender =>
    controlPlaneContender(pair, { name, expectedStatus, requests });
  const calls = async (era: keyof typeof ERAS): Promise<Buffer[]> => {
    const { headers, body } = ERAS[era];
    const authorized = keys.map((key) => ({ ...headers, authorization: `Bearer ${key}` }));
    await expectAddress(url, { ...headers, authorization: `Bearer ${keys[0]}` }, body);
    return authorized.map((known) => requestBytes(url, PATH, known, body));
  };
  return {
    toolsCall: contender('MCP tools/call get_credential, 2025-11-25', 200, await calls('handshake')),
    toolsCall2026: contender('MCP tools/call get_credential, 2026-07-28', 200, await calls('stateless')),
    missingToken: contender('MCP refusal, 401 without token', 401, [
      requestBytes(url, PATH, ERAS.handshake.headers, ERAS.handshake.body),
    ]),
  };
}

/** A tool's error is a 200 too, and only successes may count. */
async function expectAddress(url: string, headers: Record<string, string>, body: object): Promise<void> {
  const answer = await fetch(url + PATH, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  if (!text.includes('"credentialUrl"')) throw new Error(`tools/call answered ${answer.status}: ${text}`);
}
