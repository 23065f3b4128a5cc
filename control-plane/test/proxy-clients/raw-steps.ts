import type { Door } from './door.ts';
import { type Steps, outcome } from './record.ts';
import type { Run } from './sdk-steps.ts';

const ACCEPT = 'application/json, text/event-stream';
const INITIALIZE = {
  jsonrpc: '2.0',
  id: 'first',
  method: 'initialize',
  params: {
    protocolVersion: '2025-03-26',
    capabilities: {},
    clientInfo: { name: 'by hand', version: '1' },
  },
};

/** An answer as far as both sides of the proxy agree on it. */
interface RawAnswer {
  readonly status: number;
  readonly type: string | null;
  readonly allow: string | null;
  readonly location: string | null;
  readonly session: boolean;
  readonly body: string;
}

/** What no client of the SDK sends: requests by hand, most of them wrong, at an upstream with sessions. */
export async function rawSteps(door: Door): Promise<Run> {
  const steps: Steps = new Map();
  let received = '';
  const send = async (
    method: string,
    headers: Record<string, string>,
    content?: string | Uint8Array<ArrayBuffer>,
  ): Promise<{ answer: RawAnswer; id: string | null }> => {
    const response = await fetch(door.url, {
      method,
      redirect: 'manual',
      headers: { authorization: `Bearer ${door.bearer}`, ...headers },
      ...(content !== undefined && { body: content }),
    });
    const { status, headers: fields } = response;
    const id = fields.get('mcp-session-id');
    const body = await response.text();
    received += [...fields, ['body', body]].map(([name, value]) => `${name}: ${value}\n`).join('');
    return {
      id,
      answer: {
        status,
        type: fields.get('content-type'),
        allow: fields.get('allow'),
        location: fields.get('location'),
        session: id !== null,
        body,
      },
    };
  };
  const json = { 'content-type': 'application/json', accept: ACCEPT };
  const post = (message: unknown, headers: Record<string, string> = {}) =>
    send('POST', { ...json, ...headers }, JSON.stringify(message));
  const step = async (name: string, call: Promise<{ answer: RawAnswer }>): Promise<void> => {
    steps.set(name, await outcome(call.then(({ answer }) => answer)));
  };
  const message = (method: string, id?: unknown, params = {}) => ({
    jsonrpc: '2.0',
    ...(id !== undefined && { id }),
    method,
    params,
  });

  const opened = await post(INITIALIZE);
  steps.set('initialize', await outcome(Promise.resolve(opened.answer)));
  const session = { 'mcp-session-id': opened.id ?? '', 'mcp-protocol-version': '2025-03-26' };
  const echo = (id: unknown, text: string) =>
    message('tools/call', id, { name: 'echo', arguments: { text } });
  await step('initialized', post(message('notifications/initialized'), session));
  await step(
    'batch',
    post([message('ping', 1), echo('two', 'of a batch'), message('notifications/x')], session),
  );
  await step(
    'batch of notifications',
    post([message('notifications/x'), message('notifications/y')], session),
  );
  await step('empty batch', post([], session));
  await step('id that is null', post(message('ping', null), session));
  await step('unknown method', post(message('no/such', 3), session));
  await step('large id', post(message('ping', 2 ** 53 - 1), session));
  await step('no JSON', send('POST', { ...json, ...session }, '{"jsonrpc":'));
  await step('no UTF-8', send('POST', { ...json, ...session }, new Uint8Array([0x7b, 0xff, 0xfe, 0x7d])));
  await step('no JSON-RPC', post({ hello: 'there' }, session));
  await step('empty body', send('POST', { ...json, ...session }, ''));
  await step('other media type', send('POST', { ...json, ...session, 'content-type': 'text/plain' }, 'x'));
  await step(
    'no accept',
    send('POST', { ...json, ...session, accept: 'application/json' }, JSON.stringify(message('ping', 4))),
  );
  await step('GET without accept', send('GET', { ...session, accept: 'text/html' }));
  await step('GET without session', send('GET', { accept: 'text/event-stream' }));
  // The proxy refuses it by itself, since it is none that it began (PROTOCOL.md PRX-45): only the status is the upstream's.
  steps.set(
    'unknown session',
    await outcome(
      post(message('ping', 5), { ...session, 'mcp-session-id': 'nobody' }).then(
        ({ answer }) => answer.status,
      ),
    ),
  );
  await step('no session', post(message('ping', 6)));
  await step(
    'unknown revision',
    post(message('ping', 7), { ...session, 'mcp-protocol-version': '1999-01-01' }),
  );
  await step('second initialize', post({ ...INITIALIZE, id: 8 }, session));
  await step('OPTIONS', send('OPTIONS', session));
  await step('DELETE', send('DELETE', session));
  await step('after DELETE', post(message('ping', 9), session));
  await step('DELETE again', send('DELETE', session));
  return { steps, received };
}
