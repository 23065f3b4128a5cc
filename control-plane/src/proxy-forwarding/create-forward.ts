import { type Forward, FORWARD_TIMEOUTS, type ForwardTimeouts } from './forward.ts';
import { createProxyCall } from './proxy-call.ts';
import { createSessionForward } from './session-forward.ts';
import { type WebhookForwardDependencies, createWebhookForward } from './webhook-forward.ts';

type Dependencies = Parameters<typeof createSessionForward>[0] &
  Parameters<typeof createProxyCall>[0] &
  WebhookForwardDependencies;

/** Both ways that a use may go. @param options.timeouts the protocol's unless given */
export function createForward(
  options: Omit<Dependencies, 'call' | 'timeouts'> & { readonly timeouts?: ForwardTimeouts },
): Forward {
  const { timeouts = FORWARD_TIMEOUTS } = options;
  const toWebhook = createWebhookForward({ ...options, call: createProxyCall({ ...options, timeouts }) });
  const toUpstream = createSessionForward({ ...options, timeouts });
  return (use, exchange, take) =>
    use.kind === 'webhook' ? toWebhook(use, exchange, take) : toUpstream(use, exchange, take);
}
