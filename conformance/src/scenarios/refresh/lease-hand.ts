import { randomToken } from '@svault/shared';
import { expectOk, expectThat } from '../../check/expect.ts';
import type { Answer } from '../../http/client.ts';
import type { ProviderClient } from '../../provider/client-authentication.ts';
import type { Tools } from '../../check/tools.ts';
import { basicClient, givenRefreshable, lease, mediatedProvider, type Refreshable } from './refreshable.ts';

/** `get`. */
export const getLease = (tools: Tools, { name }: Refreshable): Promise<Answer> =>
  lease(tools, { phase: 'get', serviceName: name });
/** `update`. */
export const updateUnder = (tools: Tools, leaseId: unknown, authentication: object): Promise<Answer> =>
  lease(tools, { phase: 'update', leaseId, ...authentication });

/** A record that only the service can refresh, and a lease for it. */
export async function givenLease(
  tools: Tools,
  client: ProviderClient = basicClient(),
  beside: Readonly<Record<string, unknown>> = {},
): Promise<{ readonly record: Refreshable; readonly leaseId: unknown; readonly authentication: object }> {
  const record = await givenRefreshable(tools, { client, sealed: mediatedProvider, beside });
  const { leaseId } = expectOk(await getLease(tools, record));
  return { record, leaseId, authentication: authenticationOf(client) };
}

/** What the service gives with `update`. */
const authenticationOf = (client: ProviderClient): object => ({
  ...('secret' in client && { clientSecret: client.secret }),
  ...('assertion' in client && { clientAssertion: client.assertion }),
});

export const assertionClient = (): ProviderClient => ({
  id: 'client',
  method: 'private_key_jwt',
  assertion: `${randomToken()}.${randomToken()}.${randomToken()}`,
});
export const postClient = (): ProviderClient => ({
  id: 'client',
  method: 'client_secret_post',
  secret: randomToken(),
});

/** What an `update` came to. */
export function expectOutcome(answer: Answer, outcome: string): void {
  expectThat(expectOk(answer)['outcome'] === outcome, answer, `200 with outcome "${outcome}"`);
}
