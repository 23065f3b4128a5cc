import type { TokenMetadata } from '@svault/shared/schemas';

/** The metadata of a record that can be refreshed and expires in half an hour by the tests' clocks. */
export const refreshableRecord = (
  serviceName: string,
  changes: Partial<TokenMetadata> = {},
): TokenMetadata => ({
  serviceName,
  tokenType: 'JWT',
  createdAt: '2026-11-20T00:00:00.000Z',
  updatedAt: '2026-11-20T00:00:00.000Z',
  expiryTime: '2026-11-20T12:30:00.000Z',
  hasRefreshToken: true,
  version: 1,
  delivery: 'any',
  allowedHosts: [],
  allowedHeaders: [],
  empty: false,
  provider: {
    tokenUrl: 'https://id.example.org/token',
    clientId: 'a client',
    authMethod: 'client_secret_basic',
    mediated: false,
  },
  ...changes,
});

/** As many entries and bytes as PROTOCOL.md section 5.7 allows. */
export const LARGEST_RULES = Array.from({ length: 50 }, () => ({
  methods: ['GET'],
  paths: Array.from({ length: 8 }, (_, at) => `/${at}${'x'.repeat(32)}`),
}));
