import { randomBytes } from 'node:crypto';

/** What a native application registers; the port of its listener is not known by then (RFC 8252, 7.3). */
const REDIRECT_URI = 'http://127.0.0.1:49152/callback';

/** What the client says of itself, when it registers or in a document of its own. */
export const CLIENT_METADATA = {
  client_name: 'somebody else’s client',
  redirect_uris: [REDIRECT_URI],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
};

/** What a client keeps; each SDK puts in and takes out what it likes. */
interface Kept {
  client?: object;
  tokens?: { readonly access_token: string; readonly refresh_token?: string | undefined };
  verifier?: string;
  state?: string;
  discovered?: object;
  /** Where the person was to be sent, and was not yet. */
  opened?: URL;
}

/**
 * The part of an MCP client that its host writes: keeps what the SDK gives it, and hands out the address that a browser
 * is to open. Fits both SDKs' `OAuthClientProvider`, whose shapes differ in what they keep.
 *
 * @param clientMetadataUrl where the client describes itself; without one it registers
 */
export function rememberedSession<
  Client extends object,
  Tokens extends NonNullable<Kept['tokens']>,
  Discovered extends object,
>(clientMetadataUrl?: string) {
  const kept: Kept = {};
  const forget = {
    all: ['client', 'tokens', 'verifier'],
    client: ['client'],
    tokens: ['tokens'],
    verifier: ['verifier'],
    discovery: ['discovered'],
  } as const;
  return {
    kept,
    /** The address that the person was last sent to. */
    takeOpened: (): URL => {
      const { opened } = kept;
      delete kept.opened;
      if (opened === undefined) throw new Error('the client sent nobody anywhere');
      return opened;
    },
    provider: {
      ...(clientMetadataUrl !== undefined && { clientMetadataUrl }),
      redirectUrl: REDIRECT_URI,
      clientMetadata: CLIENT_METADATA,
      state: () => (kept.state = randomBytes(16).toString('base64url')),
      clientInformation: () => kept.client as Client | undefined,
      saveClientInformation: (client: Client) => void (kept.client = client),
      tokens: () => kept.tokens as Tokens | undefined,
      saveTokens: (tokens: Tokens) => void (kept.tokens = tokens),
      saveCodeVerifier: (verifier: string) => void (kept.verifier = verifier),
      codeVerifier: () => kept.verifier ?? '',
      redirectToAuthorization: (url: URL) => void (kept.opened = url),
      saveDiscoveryState: (discovered: Discovered) => void (kept.discovered = discovered),
      discoveryState: () => kept.discovered as Discovered | undefined,
      invalidateCredentials: (scope: keyof typeof forget) => {
        for (const name of forget[scope]) delete kept[name];
      },
    },
  };
}
