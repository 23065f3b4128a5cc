import { type Narrator, expectEqual } from './demo-narrator.ts';
import type { StoredCredential } from './demo-credentials.ts';
import type { DemoOutside } from './demo-outside.ts';
import type { Pair } from './pair.ts';

interface Made {
  readonly proxy: { readonly id: string };
  readonly key: string;
}

/** What a proxy does for its clients, against an MCP server of this machine. */
export async function demoProxySteps(
  { admin, controlPlaneUrl }: Pick<Pair, 'admin' | 'controlPlaneUrl'>,
  step: Narrator['step'],
  options: {
    readonly outside: DemoOutside;
    readonly credential: StoredCredential;
    readonly agentId: string;
  },
): Promise<void> {
  const { outside, credential, agentId } = options;
  const upstreamUrl = `${outside.url}/mcp`;
  const make = (settings: object): Promise<Made> =>
    admin.call<Made>('POST', '/api/proxies', { upstreamUrl, ...settings });
  const call = (key: string, method: string): Promise<Response> =>
    fetch(`${controlPlaneUrl}/api/proxy/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 7, method, params: {} }),
    });
  let made: Made = { proxy: { id: '' }, key: '' };

  await step('Call an MCP server through a proxy: the webhook puts the credential in', async () => {
    made = await make({ name: 'demo', serviceName: credential.serviceName });
    const text = await (await call(made.key, 'tools/list')).text();
    expectEqual('the answer', text, '{"jsonrpc":"2.0","id":7,"result":{"said":"tools/list"}}');
    const { authorization, headers } = await outside.lastCall();
    expectEqual('what the server was sent', authorization, `Bearer ${credential.delivered}`);
    const leaked = [text, headers].some(
      (said) => said.includes(credential.delivered) || said.includes(made.key),
    );
    expectEqual('whether either side saw more than its own', leaked, false);
    return `${made.proxy.id}: the server saw the credential and not the proxy's key, the client the answer alone`;
  });

  await step('Read a stream through it: each event as it comes', async () => {
    const answer = await call(made.key, 'tools/call');
    const events = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
    expectEqual(
      'whether the first is the progress',
      (await nextEvent(events)).includes('notifications/progress'),
      true,
    );
    // Only now does the server send the second: nothing on the way waited for it.
    await outside.goOn();
    expectEqual('whether the second is the result', (await nextEvent(events)).includes('"id":7'), true);
    return `${answer.headers.get('content-type')}: the first event was there before the second was sent`;
  });

  await step('Send a session of the agent to a server that asks this service about it', async () => {
    const ours = await make({ name: 'ours', upstreamAuthType: 'sv_session', agentId });
    expectEqual('the status', (await call(ours.key, 'tools/list')).status, 200);
    const [scheme, token = ''] = (await outside.lastCall()).authorization.split(' ');
    expectEqual('the scheme', scheme, 'Bearer');
    const asked = await fetch(`${controlPlaneUrl}/api/mcp-oauth/introspect`, {
      method: 'POST',
      body: new URLSearchParams({ token }),
    });
    const { active, aud, sub } = (await asked.json()) as Record<string, unknown>;
    expectEqual(
      'what the control plane says of it',
      [active, aud, sub].join(),
      [true, upstreamUrl, agentId].join(),
    );
    return `${token.slice(0, 11)}…: active, for ${agentId}, good at ${String(aud)} and nowhere else`;
  });

  await step("Revoke the first proxy's key", async () => {
    await admin.call('POST', `/api/proxies/${made.proxy.id}/revoke`);
    const answer = await call(made.key, 'tools/list');
    const answered = `${answer.status} ${((await answer.json()) as { code: string }).code}`;
    expectEqual('the answer', answered, '403 INVALID_KEY');
    return answered;
  });
}

/** Up to the empty line that ends it. */
async function nextEvent(
  events: ReadableStreamDefaultReader<string> | undefined,
  begun = '',
): Promise<string> {
  const { value } = (await events?.read()) ?? {};
  const soFar = begun + (value ?? '');
  return value === undefined || soFar.endsWith('\n\n') ? soFar : nextEvent(events, soFar);
}
