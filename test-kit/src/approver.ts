import type { TestPair } from './pair.ts';
import { type SoftwarePasskey, softwarePasskey } from '@svault/shared/software-passkey';

/** A person with a passkey at the webhook. */
export interface TestApprover {
  readonly passkey: SoftwarePasskey;
  /** Decides on the page of a request, as its own script does. @throws Error where the webhook does not take it */
  decide(url: string, decision?: 'approve' | 'deny' | 'revoke', scope?: string): Promise<void>;
}

/** Enrols a passkey at the webhook of a pair, past the wiretap. */
export async function enrolApprover(pair: TestPair, name = 'Ana'): Promise<TestApprover> {
  const { origin, hostname: rpId } = new URL(pair.webhookUrl);
  const passkey = softwarePasskey({ origin, rpId });
  const post = async (
    url: string,
    body: object,
  ): Promise<{ readonly publicKey: { readonly challenge: string } }> => {
    const response = await fetch(pair.bypassingRecorder(url), {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`the webhook answered ${response.status}: ${await response.text()}`);
    return (await response.json()) as { publicKey: { challenge: string } };
  };
  const link = new URL(await pair.approverLink());
  const asked = { code: link.searchParams.get('code'), name };
  const { publicKey } = await post(`${origin}/approvers/new/options`, asked);
  await post(`${origin}/approvers/new/decision`, { ...asked, response: passkey.create(publicKey) });
  return {
    passkey,
    decide: async (url, decision = 'approve', scope = 'once') => {
      const options = await post(`${url}/options`, { decision, scope });
      await post(`${url}/decision`, { decision, scope, response: passkey.get(options.publicKey) });
    },
  };
}
