import {
  type ApprovalScope,
  approvalChallenge,
  approvalText,
  sha256,
  toBase64url,
  utf8,
} from '@svault/shared';
import { APPROVAL_LIMITS } from '@svault/shared/schemas';
import * as z from 'zod';
import { secondsOf } from '../../api/duration.ts';
import { type Failure, failed, orElse, usage } from '../../failure.ts';
import { endWhereDry } from '../../http/dry-run.ts';
import { understood } from '../../http/refusal.ts';
import { send } from '../../http/send.ts';
import type { Invocation, Run } from '../../invocation.ts';
import { printDone } from '../../output/print.ts';
import { confirm } from '../../secret-input/ask.ts';
import { type KeyAssertion, securityKey, signWithKey } from '../../security-key/security-key.ts';
import { mustBeOwnWebhook } from '../../webhook-direct/known-webhook.ts';
import {
  type RequestAddress,
  isAsSigned,
  optionsSchema,
  requestAddress,
  signedFacts,
} from './asked-request.ts';
import { type ShownFacts, requestText } from './request-text.ts';

interface Options {
  readonly deny?: true;
  readonly for?: string;
  readonly device?: string;
  readonly yes?: true;
}

type Decision = Pick<ShownFacts, 'decision' | 'scope'>;

const COLUMNS = 80;

/**
 * `approve URL`: a decision on a request at a webhook, signed by a security key of this machine. No page is trusted: what is
 * shown is what is signed, and relying party and origin are those of the address that was typed.
 */
export const approve: Run<[string], Options> = async (invocation, [text], options) => {
  const address = requestAddress(text);
  const decision = decisionFrom(options);
  const answer = await post(invocation, address, 'options', decision, optionsSchema);
  const asked = { facts: signedFacts(answer.text, address), shown: answer.shown, ...decision };
  invocation.terminal.err(requestText(asked, invocation.terminal.columns ?? COLUMNS));
  mustBeAsSigned(asked);
  await mustBeOwnWebhook(invocation, address.webhookUrl);
  await confirm(invocation, QUESTIONS[decision.decision], options);
  const device = await securityKey(invocation, options.device);
  await postSigned(invocation, address, asked, device);
  const { serviceName } = asked.facts;
  printDone(invocation, {
    said: `${decision.decision === 'deny' ? 'denied' : 'approved'}: ${serviceName} for ${asked.facts.sub}`,
    answer: { id: address.id, webhookUrl: address.webhookUrl, ...decision, text: answer.text },
    name: address.id,
  });
};

const QUESTIONS = {
  approve: 'Sign this approval with the security key?',
  deny: 'Sign this denial with the security key?',
} as const;

/** @throws Failure usage */
function decisionFrom({ deny, for: duration }: Options): Decision {
  if (duration === undefined) return { decision: deny === true ? 'deny' : 'approve', scope: 'once' };
  if (deny === true) throw usage('--for is about approvals: leave it out with --deny');
  const seconds = secondsOf(duration);
  const { minStandingSeconds, maxStandingSeconds } = APPROVAL_LIMITS;
  if (seconds === undefined || seconds < minStandingSeconds || seconds > maxStandingSeconds)
    throw usage('--for takes a duration from 1m to 8h, such as 30m or 1h30m');
  return { decision: 'approve', scope: `standing:${seconds}` satisfies ApprovalScope };
}

/** @throws Failure where header fields or body are not those that would be approved */
function mustBeAsSigned({ facts: { operation }, shown, decision }: ShownFacts): void {
  if (operation.type === 'credential' || decision === 'deny' || isAsSigned(operation, shown) !== false)
    return;
  throw failed(
    'the header fields and the body that the webhook shows are not those of the request that would be approved: somebody in between changes them. Nothing was signed.',
  );
}

/** Has the key sign, and posts what its newest passkey signed that is an approver's. @throws Failure */
async function postSigned(
  invocation: Invocation,
  address: RequestAddress,
  { facts, decision, scope }: ShownFacts,
  device: string,
): Promise<void> {
  const { origin, hostname: rpId } = new URL(address.webhookUrl);
  const challenge = toBase64url(approvalChallenge(approvalText(facts), decision, scope));
  const clientData = utf8(JSON.stringify({ type: 'webauthn.get', challenge, origin, crossOrigin: false }));
  const assertions = await signWithKey(invocation, device, { clientDataHash: sha256(clientData), rpId });
  let refused: Failure | undefined;
  for (const assertion of assertions) {
    const body = { decision, scope, response: responseOf(assertion, clientData) };
    refused = await orElse<Failure | undefined>(
      post(invocation, address, 'decision', body, z.unknown()).then(() => undefined),
      (failure) => failure,
    );
    // A key keeps passkeys of approvers that were removed.
    if (refused?.code !== 'SIGNATURE_INVALID') break;
  }
  if (refused !== undefined) throw refused;
}

/** `AuthenticationResponseJSON` (Web Authentication Level 3) without the id, which the tool does not say. */
const responseOf = ({ authenticatorData, signature, userHandle }: KeyAssertion, clientData: Uint8Array) => ({
  type: 'public-key',
  clientExtensionResults: {},
  response: {
    clientDataJSON: toBase64url(clientData),
    authenticatorData: toBase64url(authenticatorData),
    signature: toBase64url(signature),
    userHandle: toBase64url(userHandle),
  },
});

async function post<T>(
  invocation: Invocation,
  { webhookUrl, id }: RequestAddress,
  step: 'options' | 'decision',
  body: object,
  schema: z.ZodType<T>,
): Promise<T> {
  const request = { method: 'POST', url: new URL(`${webhookUrl}/approvals/${id}/${step}`), body } as const;
  endWhereDry(invocation, request);
  const answer = send(invocation, request).then((received) => understood(received, request.url, schema));
  return orElse(answer, (failure) => {
    if (failure.exit !== 'notFound' && !failure.isOfAddress) throw failure;
    throw failure.saying(
      `${failure.message}; a link of the control plane is decided by svault approvals approve, and a request is forgotten a day after its end`,
    );
  });
}
