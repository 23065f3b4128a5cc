import { variantsAtOnce } from '../../check/each-variant.ts';
import { expectOk, expectRefusal } from '../../check/expect.ts';
import type { WebhookCheck } from '../../check/check.ts';
import type { SignatureDeviation } from '../../forge/signature.ts';
import type { RequestToSend } from '../../http/client.ts';
import type { ServiceRequest, Tools } from '../../check/tools.ts';

/** A signed request without a body, which every webhook takes. */
export const HEALTH = { method: 'POST', path: '/v1/health' } as const;
/** One with a body, which changes nothing. */
export const LIST = { method: 'POST', path: '/v1/storage', body: '{"op":"tokens.list","limit":1}' } as const;

/** A signed request with a body, at an endpoint that this webhook has. */
export function withBody({ claims }: Tools): ServiceRequest & { readonly body: string } {
  return claims.has('storage') ? LIST : { ...HEALTH, body: '{}' };
}

/** The suite's clock, in seconds since 1970. */
export const now = (): number => Math.floor(Date.now() / 1000);

/** A request under a deviating signature, or one that was tampered with after it was signed. */
export type Attempt = SignatureDeviation | RequestToSend;
export type Attempts = Readonly<Record<string, Attempt>>;
type Described = Pick<WebhookCheck, 'id' | 'title' | 'requirements' | 'claims'>;

/**
 * A check that each of some requests is refused.
 * @param attempts by what is wrong with them; deviations are those of the request with a body
 */
export function refusesSignatures(
  described: Described,
  attempts: (tools: Tools) => Attempts,
  request: (tools: Tools) => ServiceRequest = withBody,
): WebhookCheck {
  return {
    ...described,
    run: (tools) =>
      variantsAtOnce(attempts(tools), async (attempt) =>
        expectRefusal(await tools.send(toSend(tools, request(tools), attempt)), 'SIGNATURE_INVALID'),
      ),
  };
}

/**
 * A check that each of some requests is accepted.
 * @param attempts by what is unusual about them; deviations are those of the request without a body
 */
export function takesSignatures(
  described: Described,
  attempts: (tools: Tools) => Attempts,
  request: (tools: Tools) => ServiceRequest = () => HEALTH,
): WebhookCheck {
  return {
    ...described,
    run: (tools) =>
      variantsAtOnce(attempts(tools), async (attempt) =>
        expectOk(await tools.send(toSend(tools, request(tools), attempt))),
      ),
  };
}

function toSend(tools: Tools, request: ServiceRequest, attempt: Attempt): RequestToSend {
  return isReady(attempt) ? attempt : tools.sign(request, attempt);
}

function isReady(attempt: Attempt): attempt is RequestToSend {
  return 'method' in attempt;
}
