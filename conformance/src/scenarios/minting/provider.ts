import { randomInt } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { randomToken } from '@svault/shared';
import type { Capability } from '@svault/shared/schemas';
import { NotTestable } from '../../check/outcome.ts';
import { rsaPair } from '../../forge/rsa-pair.ts';
import type { Answer } from '../../http/client.ts';
import type { Tools } from '../../check/tools.ts';
import type { Place } from '../../upstream/upstream.ts';

/** A minter whose provider the suite can play. */
export interface PlayedMinter {
  /** In ids of checks. */
  readonly id: string;
  readonly claim: Capability;
  /**
   * The minter's settings, with the suite as its provider.
   * @param account digits that make it another account's
   */
  settings(providerUrl: string, account?: string): Readonly<Record<string, unknown>>;
  /** What the provider answers with a token. */
  answer(token: string, lifeSeconds: number): { readonly status: number; readonly body: object };
  /** What it answers without one. */
  readonly withoutToken: object;
}

export const GCP: PlayedMinter = {
  id: 'gcp',
  claim: 'gcp',
  settings: (providerUrl, account = '1') => ({
    type: 'gcp-service-account',
    clientEmail: `conformance-${account}@project.iam.gserviceaccount.com`,
    privateKey: rsaPair().privateKey.export({ type: 'pkcs8', format: 'pem' }),
    tokenUri: `${providerUrl}/token`,
    scopes: ['https://www.googleapis.com/auth/cloud-platform', 'https://www.googleapis.com/auth/drive'],
  }),
  answer: (access_token, expires_in) => ({
    status: 200,
    body: { access_token, expires_in, token_type: 'Bearer' },
  }),
  withoutToken: { access_token: null, token_type: 'Bearer', expires_in: 3599 },
};

export const GITHUB: PlayedMinter = {
  id: 'github',
  claim: 'github-app',
  settings: (providerUrl, account = '1') => ({
    type: 'github-app',
    appId: '12345',
    installationId: `67${account}`,
    privateKey: rsaPair().privateKey.export({ type: 'pkcs1', format: 'pem' }),
    apiUrl: `${providerUrl}/api/v3`,
  }),
  answer: (token, lifeSeconds) => ({
    status: 201,
    body: {
      token,
      expires_at: `${new Date(Date.now() + lifeSeconds * 1000).toISOString().slice(0, 19)}Z`,
      permissions: { metadata: 'read' },
    },
  }),
  withoutToken: { token: null, permissions: { metadata: 'read' } },
};

/** A record, and the place that its minter calls. */
export interface MinterRecord {
  readonly name: string;
  readonly place: Place;
  /** Every token that the place gave, in order. */
  readonly given: readonly string[];
}

const REACH =
  'have the webhook allow that address for its outgoing calls, http included, or name another one by --upstream-url';
/** Digits that no other minter of a run has. */
export const newAccount = (): string => String(randomInt(1e9, 1e10));

/** An hour, as both providers give. */
export const LIFE_SECONDS = 3600;

/** Writes a provider's answer. */
export function say(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

/** Stores a minter whose provider gives another token with each call. @throws NotTestable */
export async function givenMinter(
  tools: Tools,
  minter: PlayedMinter,
  options: {
    readonly settings?: object;
    readonly beside?: object;
    readonly lifeSeconds?: number;
    readonly account?: string;
  } = {},
): Promise<MinterRecord> {
  const given: string[] = [];
  const place = (await tools.given.upstream()).open((response) => {
    const token = `minted-${randomToken()}`;
    given.push(token);
    const { status, body } = minter.answer(token, options.lifeSeconds ?? LIFE_SECONDS);
    say(response, status, body);
  });
  const name = tools.freshName();
  const { settings, beside, account = newAccount() } = options;
  await storeMinter(tools, name, { ...minter.settings(place.url, account), ...settings }, beside);
  return { name, place, given };
}

/** Stores a minter under a name. @throws NotTestable */
export async function storeMinter(
  tools: Tools,
  name: string,
  minter: object,
  beside: object = {},
): Promise<void> {
  const answer = await tools.store(name, { tokenType: 'RawCredential', minter, ...beside });
  if (answer.status !== 200)
    throw new NotTestable(
      `a minter whose provider is the suite’s own server was not stored; ${REACH}`,
      answer,
    );
}

/** Fetches what a minter makes. */
export const fetchMinted = (tools: Tools, name: string, sub = 'agt_conformance'): Promise<Answer> =>
  tools.fetchCredential(tools.ticket('credential', name, { claims: { sub } }));

/** Tells a provider that was never asked from one that was misunderstood. @throws NotTestable */
export function expectAsked({ place }: Pick<MinterRecord, 'place'>, answer: Answer): void {
  if (place.calls.length > 0) return;
  const { origin } = new URL(place.url);
  throw new NotTestable(
    `the webhook did not call the provider, which the suite plays at ${origin}; ${REACH}`,
    answer,
  );
}
