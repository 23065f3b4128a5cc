import { invalidArgument, refusal } from '../core/errors.ts';
import { WebhookCallFailed } from './webhook-call-failed.ts';

const NEW_LINK = "Make a new link: press connect on the webhook's /bind page, or run its bind-link.";

/** What the owner can do about a binding that failed. Other errors pass unchanged. */
export function explainBindFailure(error: unknown, baseUrl: string): unknown {
  if (!(error instanceof WebhookCallFailed)) return error;
  const about = { cause: error, reason: error.message };
  switch (error.failure) {
    case 'held_back':
    case 'unreachable':
      return refusal(
        'WEBHOOK_UNAVAILABLE',
        `The webhook cannot be reached from here. Nothing is stored. Check that it runs and that its address is right. ${NEW_LINK}`,
        about,
      );
    case 'address':
      return invalidArgument([
        {
          path: 'webhookUrl',
          message:
            'is an address that this service must not call: https and a public address, or one that the operator names in SV_EGRESS_ALLOW or SV_CONNECT_TO',
        },
      ]);
    case 'garbage':
      return refusal(
        'WEBHOOK_REFUSED',
        `What answers at this address is no webhook of this protocol. Nothing is stored. Check the address and what stands before it. ${NEW_LINK}`,
        about,
      );
    case 'refused':
      return refusal('WEBHOOK_REFUSED', `${explainCode(error.code, baseUrl)} Nothing is stored.`, {
        ...about,
        details: { webhookCode: error.code },
      });
  }
}

function explainCode(code: string | undefined, baseUrl: string): string {
  switch (code) {
    case 'CODE_USED':
      return `This link has been used. ${NEW_LINK}`;
    case 'CODE_EXPIRED':
      return `This link is older than five minutes. ${NEW_LINK}`;
    case 'SIGNATURE_INVALID':
      return `The webhook does not know this link, or its clock differs from ours by more than 30 seconds. ${NEW_LINK}`;
    case 'INVALID_REQUEST':
      return `The webhook is set up for another service. Set its SV_WEBHOOK_SERVICE_URL to ${baseUrl}. ${NEW_LINK}`;
    case 'RATE_LIMITED':
      return 'The webhook has had too many attempts. Wait a minute, then open the link again.';
    default:
      return `The webhook refused (${code}). ${NEW_LINK}`;
  }
}
