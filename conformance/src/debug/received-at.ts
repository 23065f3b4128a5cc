import { authorityOf, signedPath, type SignedMessage } from '@svault/shared';
import type { HttpMessage } from './http-message.ts';

/** A request as a webhook at this address verifies it. */
export interface ReceivedAt {
  readonly message: SignedMessage;
  /** What was put back, or taken from the address, for the reader to know. */
  readonly notes: readonly string[];
}

/**
 * Takes `@authority` from the address (SIG-12), and puts back a path of the address that a proxy stripped (SIG-16).
 * @param webhookUrl one that `parseWebhookUrl` takes
 */
export function receivedAt(webhookUrl: string, { method, target, headers, body }: HttpMessage): ReceivedAt {
  const [path = '', query] = withoutOrigin(target).split('?', 2);
  const prefix = signedPath(webhookUrl, '');
  const authority = authorityOf(webhookUrl);
  const isStripped = prefix !== '' && !path.startsWith(`${prefix}/`);
  const host = headers.find(([name]) => name.toLowerCase() === 'host')?.[1];
  const notes = [
    ...(isStripped ? [`${prefix} of the webhook's address was put back in front of the path (SIG-16)`] : []),
    ...(host !== undefined && host.toLowerCase() !== authority
      ? [`Host says ${host}; "@authority" is that of the webhook's address (SIG-12)`]
      : []),
  ];
  return {
    message: {
      method,
      authority,
      path: isStripped ? prefix + path : path,
      query: query === undefined ? '' : `?${query}`,
      headers,
      body,
    },
    notes,
  };
}

/** A request line may have the whole URL (RFC 9112 section 3.2.2). */
function withoutOrigin(target: string): string {
  return target.replace(/^https?:\/\/[^/?]+/i, '');
}
