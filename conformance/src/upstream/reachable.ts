import { oncePerRun } from '../check/once-per-run.ts';
import { NotTestable } from '../check/outcome.ts';
import { NoAnswer, type Answer } from '../http/client.ts';
import type { Tools } from '../check/tools.ts';

/**
 * Proves, once in a run, that a proxy of the webhook reaches the suite's own upstream: without that no refusal means
 * anything and no answer can come.
 * @throws NotTestable that says what the author can do about it
 */
export const reachable = oncePerRun(prove);

async function prove(tools: Tools): Promise<void> {
  const upstream = await tools.given.upstream();
  const place = upstream.open();
  const { name } = await tools.given.text({ allowedHosts: [upstream.allowedHost] });
  const headerTemplates = { authorization: 'Bearer ${TOKEN}' };
  const proxyId = await tools.given.proxy({ serviceName: name, upstreamUrl: place.url, headerTemplates });
  let answer: Answer | undefined;
  try {
    answer = await tools.proxied({ proxyId, serviceName: name });
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
  }
  if (place.calls.length > 0) return;
  const [malformed] = upstream.malformed;
  if (malformed !== undefined)
    throw new NotTestable(
      `what the webhook sent to the suite’s own upstream is no HTTP request: ${malformed}`,
      answer,
    );
  throw new NotTestable(
    `the webhook did not call the suite’s own upstream at ${new URL(place.url).origin}. Have the webhook allow that ` +
      'address for its outgoing calls, http included, or name another one: --upstream-listen HOST:PORT is where the ' +
      'suite listens, --upstream-url URL how the webhook reaches it',
    answer,
  );
}
