import { describe, expect, it } from 'vitest';
import type { Operation } from '../../access/decision.ts';
import { createTools } from './routes.ts';
import { type StandardHeaders, createClassifier } from './classify-message.ts';

// A message is classified before anything else is done with it.

const never = (): never => {
  throw new Error('classifying looks nothing up');
};
const tools = createTools({ describeGrants: never, readProfile: never, readHistory: never });
const classify = createClassifier(new Map(tools.map((tool) => [tool.definition.name, tool])));

const NO_HEADERS: StandardHeaders = { version: undefined, method: undefined, name: undefined };
const classified = (message: unknown, headers: Partial<StandardHeaders> = {}) =>
  classify({ readable: true, message }, { ...NO_HEADERS, ...headers });
const calling = (params: unknown, more: object = { id: 1 }): object => ({
  jsonrpc: '2.0',
  method: 'tools/call',
  params,
  ...more,
});

const FLOOR: Operation = { kind: 'admission', traffic: 'agent_credentials' };
const HANDSHAKE: Operation = { kind: 'admission', traffic: 'mcp_handshake' };

describe('a tool call needs exactly the operation of its tool', () => {
  it.each<readonly [string, unknown, Operation]>([
    ['get_credential', { service: 'github' }, { kind: 'credential', serviceName: 'github' }],
    ['get_credential', { service: 'a/b' }, { kind: 'credential', serviceName: undefined }],
    ['get_credential', undefined, { kind: 'credential', serviceName: undefined }],
    ['show_credential', { service: 'github' }, { kind: 'grant', serviceName: 'github' }],
    ['credential_history', { service: 'github' }, { kind: 'history', serviceName: 'github' }],
    ['list_credentials', {}, { kind: 'grants' }],
    ['whoami', undefined, { kind: 'grants' }],
    ['nothing_known', { service: 'github' }, FLOOR],
    ['__proto__', {}, FLOOR],
  ])('%s with %j', (name, args, operation) => {
    const params = { name, ...(args !== undefined && { arguments: args }) };
    expect(classified(calling(params)).operation).toEqual(operation);
  });
});

describe('no ticket is requested where no response would carry it', () => {
  const params = { name: 'get_credential', arguments: { service: 'github' } };
  const envelope = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'c', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  it.each<readonly [string, unknown, Partial<StandardHeaders>]>([
    ['without an id', calling(params, {}), {}],
    ['with an id that is none', calling(params, { id: null }), {}],
    ['in another version of JSON-RPC', calling(params, { id: 1, jsonrpc: '1.0' }), {}],
    ['with arguments in a list', calling({ ...params, arguments: ['github'] }), {}],
    ['with metadata that is none', calling({ ...params, _meta: 7 }), {}],
    ['with a task that is none', calling({ ...params, task: 'x' }), {}],
    ['with a state of other rounds that is none', calling({ ...params, requestState: 7 }), {}],
    ['in a version that is not there', calling(params), { version: '1.0' }],
    ['with a modern header and no envelope', calling(params), { version: '2026-07-28' }],
    ['with an envelope and no headers', calling({ ...params, _meta: envelope }), {}],
    [
      'with headers that name another tool',
      calling({ ...params, _meta: envelope }),
      { version: '2026-07-28', method: 'tools/call', name: 'whoami' },
    ],
    [
      'in a future revision',
      calling({ ...params, _meta: { ...envelope, 'io.modelcontextprotocol/protocolVersion': '2099-01-01' } }),
      { version: '2099-01-01', method: 'tools/call', name: 'get_credential' },
    ],
    ['in a batch', [calling(params)], {}],
  ])('%s', (_name, message, headers) => {
    expect(classified(message, headers).operation).toEqual(FLOOR);
  });
});

it.each([
  'initialize',
  'tools/list',
  'notifications/initialized',
  'ping',
  'server/discover',
  'x',
  'tools/call2',
])('%s is a handshake', (method) => {
  expect(classified({ jsonrpc: '2.0', id: 1, method }).operation).toEqual(HANDSHAKE);
  expect(classified({ jsonrpc: '2.0', method }).operation).toEqual(HANDSHAKE);
});

it('an unreadable message counts as a handshake and is rejected under its id', () => {
  const error = { status: 400, code: -32_600, message: 'x' };
  expect(classify({ readable: false, error, id: 'a' }, NO_HEADERS)).toEqual({
    id: 'a',
    operation: HANDSHAKE,
    course: { kind: 'reject', error },
  });
});
