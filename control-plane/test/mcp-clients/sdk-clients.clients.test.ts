import {
  Client as ClientV2,
  StreamableHTTPClientTransport as TransportV2,
  UnauthorizedError as UnauthorizedV2,
  type OAuthDiscoveryState as DiscoveryV2,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
  type VersionNegotiationMode,
} from '@modelcontextprotocol/client';
import {
  type OAuthDiscoveryState as DiscoveryV1,
  UnauthorizedError as UnauthorizedV1,
} from '@modelcontextprotocol/sdk/client/auth.js';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { OAuthClientInformationMixed, OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type DocumentHost, startDocumentHost } from '../support/document-host.ts';
import { type OutsideService, SECRET, SERVICE, startOutsideService } from './outside-service.ts';
import { CLIENT_METADATA, rememberedSession } from './remembered-session.ts';
import { TOOLS, revoke } from './steps.ts';

const INFO = { name: 'somebody else’s client', version: '1.0.0' };
const ACCESS_TOKEN_MS = 3_600_000;

let service: OutsideService;
let site: DocumentHost;
beforeAll(async () => {
  [service, site] = await Promise.all([startOutsideService(), startDocumentHost()]);
});
afterAll(async () => {
  await service.stop();
  await site.stop();
});
// The SDK says on the console when a session was ended.
const warned = vi.spyOn(console, 'warn').mockReturnValue();
afterAll(() => warned.mockRestore());

/** A connection of one of the SDKs. */
interface Connected {
  readonly revision: string | undefined;
  tools(): Promise<readonly string[]>;
  call(name: string, args?: Record<string, unknown>): Promise<Record<string, unknown> | undefined>;
  close(): Promise<void>;
}

/** One of the SDKs with a session of its own. */
interface Sdk {
  readonly kept: ReturnType<typeof rememberedSession>['kept'];
  takeOpened(): URL;
  /** With the session's tokens, if there are any. */
  connect(): Promise<Connected>;
  /** With an agent's key instead. */
  connectWithKey(apiKey: string): Promise<Connected>;
  /** Takes what the browser brought to the redirect URI. */
  finish(callback: URL): Promise<void>;
  readonly Unauthorized: new (...args: never[]) => Error;
}

const connectedBy = (client: ClientV1 | ClientV2, revision: string | undefined): Connected => ({
  revision,
  tools: async () => (await client.listTools()).tools.map(({ name }) => name),
  call: async (name, args = {}) =>
    (await client.callTool({ name, arguments: args })).structuredContent as Record<string, unknown>,
  close: () => client.close(),
});

function v1(clientMetadataUrl?: string, address = service.mcpUrl): Sdk {
  const { kept, takeOpened, provider } = rememberedSession<
    OAuthClientInformationMixed,
    OAuthTokens,
    DiscoveryV1
  >(clientMetadataUrl);
  const url = new URL(address);
  const connected = async (transport: TransportV1): Promise<Connected> => {
    const client = new ClientV1(INFO);
    await client.connect(transport);
    return connectedBy(client, transport.protocolVersion);
  };
  return {
    kept,
    takeOpened,
    connect: () => connected(new TransportV1(url, { authProvider: provider })),
    connectWithKey: (apiKey) =>
      connected(new TransportV1(url, { requestInit: { headers: { authorization: `Bearer ${apiKey}` } } })),
    finish: ({ searchParams }) =>
      new TransportV1(url, { authProvider: provider }).finishAuth(searchParams.get('code') ?? ''),
    Unauthorized: UnauthorizedV1,
  };
}

const v2 =
  (mode: VersionNegotiationMode) =>
  (clientMetadataUrl?: string, address = service.mcpUrl): Sdk => {
    const { kept, takeOpened, provider } = rememberedSession<
      StoredOAuthClientInformation,
      StoredOAuthTokens,
      DiscoveryV2
    >(clientMetadataUrl);
    const url = new URL(address);
    const connected = async (transport: TransportV2): Promise<Connected> => {
      const client = new ClientV2(INFO, { versionNegotiation: { mode } });
      await client.connect(transport);
      return connectedBy(client, client.getNegotiatedProtocolVersion());
    };
    return {
      kept,
      takeOpened,
      connect: () => connected(new TransportV2(url, { authProvider: provider })),
      connectWithKey: (apiKey) =>
        connected(new TransportV2(url, { authProvider: { token: () => Promise.resolve(apiKey) } })),
      finish: ({ searchParams }) => new TransportV2(url, { authProvider: provider }).finishAuth(searchParams),
      Unauthorized: UnauthorizedV2,
    };
  };

describe.each([
  ['v1', v1, '2025-11-25'],
  ['v2, as it is', v2('legacy'), '2025-11-25'],
  ['v2, where it asks first', v2('auto'), '2026-07-28'],
  ['v2, pinned to the stateless revision', v2({ pin: '2026-07-28' }), '2026-07-28'],
] as const)('the SDK’s client, %s', (_, make, revision) => {
  test('comes by OAuth from a bare 401 to a credential, is refreshed, and is out when it is revoked', async () => {
    const sdk = make();
    await expect(sdk.connect()).rejects.toThrow(sdk.Unauthorized);
    const callback = await service.allow(sdk.takeOpened());
    expect(callback.searchParams.get('state')).toBe(sdk.kept.state);
    expect(callback.searchParams.get('iss')).toBe(service.url);
    await sdk.finish(callback);
    const first = sdk.kept.tokens?.access_token ?? '';

    const connected = await sdk.connect();
    expect(connected.revision).toBe(revision);
    expect((await connected.tools()).toSorted()).toEqual(TOOLS);
    const { credentialUrl } = (await connected.call('get_credential', { service: SERVICE })) ?? {};
    expect(await service.fetchCredential(String(credentialUrl))).toContain(SECRET);

    service.clock.advance(ACCESS_TOKEN_MS + 1);
    expect(await connected.call('whoami')).toMatchObject({ id: service.agent.id, status: 'active' });
    const second = sdk.kept.tokens?.access_token ?? '';
    expect([first, second]).toEqual([expect.stringMatching(/^svsess_/), expect.stringMatching(/^svsess_/)]);
    expect(second).not.toBe(first);

    expect(await revoke(service, second)).toBe(200);
    await expect(connected.call('whoami')).rejects.toThrow(sdk.Unauthorized);
    await connected.close();
    expect(sdk.takeOpened().pathname).toBe('/api/mcp-oauth/authorize');
  });

  test('comes by the document in which it describes itself, without registering', async () => {
    const clientId = `${site.origin}/client.json`;
    site.paths.set('/client.json', { client_id: clientId, ...CLIENT_METADATA });
    const sdk = make(clientId);
    await expect(sdk.connect()).rejects.toThrow(sdk.Unauthorized);
    expect(sdk.kept.client).toMatchObject({ client_id: clientId });
    await sdk.finish(await service.allow(sdk.takeOpened()));
    const connected = await sdk.connect();
    expect(await connected.call('whoami')).toMatchObject({ id: service.agent.id });
    await connected.close();
  });

  test('comes by OAuth to the address with a slash at its end', async () => {
    const sdk = make(undefined, `${service.mcpUrl}/`);
    await expect(sdk.connect()).rejects.toThrow(sdk.Unauthorized);
    await sdk.finish(await service.allow(sdk.takeOpened()));
    const connected = await sdk.connect();
    expect(await connected.call('whoami')).toMatchObject({ id: service.agent.id });
    await connected.close();
  });

  test('comes with an agent’s key to the same tools', async () => {
    const sdk = make();
    const connected = await sdk.connectWithKey(service.agent.apiKey);
    expect(connected.revision).toBe(revision);
    expect((await connected.tools()).toSorted()).toEqual(TOOLS);
    expect(await connected.call('whoami')).toMatchObject({ id: service.agent.id });
    await connected.close();
  });
});
