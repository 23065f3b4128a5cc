import type { Secret } from '@svault/shared';
import type { Mail, NodemailerError } from 'nodemailer';
import { type Message, MAIL, detailsOf, titleOf } from './message.ts';
import { DELIVERY_TIMEOUT_MS, type DeliveryFailure } from './post.ts';

/** The operator's mail server, and whom its messages are from. */
export interface SmtpSettings {
  /** `smtp://` or `smtps://`; it may hold a password. */
  readonly url: Secret;
  readonly from: string;
}

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/**
 * Sends messages by SMTP as plain text, so that nothing in them is markup. The operator chose the server, so its address is not
 * checked; a password goes to another host by TLS alone.
 */
export function createMailer({ url, from }: SmtpSettings) {
  let mail: Promise<Pick<Mail, 'sendMail'>> | undefined;
  const connect = async () => {
    // Loaded only where it is used.
    const { createTransport } = await import('nodemailer');
    const { protocol, hostname, port, username, password } = new URL(url.reveal());
    const hasPassword = username !== '';
    const timeout = DELIVERY_TIMEOUT_MS;
    return createTransport({
      host: hostname.replaceAll(/^\[|\]$/g, ''),
      ...(port !== '' && { port: Number(port) }),
      secure: protocol === 'smtps:',
      requireTLS: protocol === 'smtp:' && hasPassword && !LOOPBACK.test(hostname),
      ...(hasPassword && {
        auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) },
      }),
      ...{
        connectionTimeout: timeout,
        greetingTimeout: timeout,
        socketTimeout: timeout,
        dnsTimeout: timeout,
      },
      maxResponseSize: 4 * 1024,
      ...{ disableFileAccess: true, disableUrlAccess: true },
    });
  };

  return {
    send: async (
      address: string,
      message: Message,
      signal: AbortSignal,
    ): Promise<DeliveryFailure | undefined> => {
      mail ??= connect();
      try {
        await (
          await mail
        ).sendMail({
          ...{ from, to: { name: '', address } },
          subject: `svault: ${titleOf(message, MAIL)}`,
          text: [...detailsOf(message, MAIL), '', message.url, ''].join('\n'),
          headers: { 'Auto-Submitted': 'auto-generated' },
          signal: AbortSignal.any([signal, AbortSignal.timeout(3 * DELIVERY_TIMEOUT_MS)]),
        });
        return undefined;
      } catch (error) {
        return { error: problemOf(error as NodemailerError) };
      }
    },
  };
}

function problemOf({ code, responseCode }: Pick<NodemailerError, 'code' | 'responseCode'>): string {
  if (code === 'EAUTH') return 'The mail server did not accept the user and password of SV_SMTP_URL.';
  if (responseCode !== undefined) return `The mail server answered ${responseCode}.`;
  if (code === 'ETLS') return 'The mail server offers no TLS that verifies.';
  if (code === 'ETIMEDOUT' || code === 'EABORT') return 'The mail server did not answer in time.';
  return 'The mail server could not be reached.';
}
