import type { Answer, Sent } from '../http/client.ts';
import { header, jsonObject } from '../http/read-answer.ts';
import type { Address } from '../target.ts';

/** What is known of a failure. */
interface Circumstances {
  readonly address: Address;
  readonly sent: Sent | undefined;
  readonly answer: Answer | undefined;
  readonly noAnswer: string | undefined;
  readonly expected: string;
  /** A request that was signed, and that should not have been refused for its signature, was. */
  readonly refusedSignature: boolean;
  readonly clockAheadSeconds: number | undefined;
}

/** Protocol section 3 lets clocks differ by 30 seconds; the second of a `Date` and the way of an answer are on top. */
const SUSPECT_CLOCK_SECONDS = 20;

/** What a failure may come from, the likeliest first. Said only where something points to it. */
export function hintsFor(circumstances: Circumstances): readonly string[] {
  const { noAnswer, answer, sent, refusedSignature } = circumstances;
  if (noAnswer !== undefined)
    return sent?.heldBack === undefined
      ? connectionHints(noAnswer)
      : [sent.heldBack.hint, ...connectionHints(noAnswer, { except: TIME_IS_OVER })];
  if (answer === undefined) return [];
  return [
    ...placeHints(circumstances, answer),
    ...exchangeHints(circumstances, answer),
    ...(refusedSignature ? signatureHints(circumstances) : []),
  ];
}

/** Of an exchange that should have been answered with a key. */
function exchangeHints({ address, sent, expected }: Circumstances, { status }: Answer): readonly string[] {
  if (!isByCode(sent) || expected.startsWith(String(status))) return [];
  if (status === 400) return [`400: is the webhook configured for ${address.serviceUrl} (EXC-07)?`];
  if (status === 401)
    return [
      'the code is unknown or replaced (EXC-19): do the command that made the link and the server share a data folder and settings?',
    ];
  return [];
}

const isByCode = (sent: Sent | undefined): boolean =>
  sent?.path === '/v1/exchange' &&
  sent.headers.some(([name, value]) => name === 'signature-input' && value.includes('keyid="bind"'));

const TIME_IS_OVER = /time for an answer is over/;
const CONNECTION: ReadonlyArray<readonly [RegExp, string]> = [
  [/ECONNREFUSED/, 'nothing listens at this address'],
  [/ENOTFOUND|EAI_AGAIN/, 'the name of this address cannot be resolved from here'],
  [/EPROTO|wrong version number/, 'the other side speaks no TLS: is the address http://?'],
  [
    /certificate|self.signed|CERT_|UNABLE_TO/i,
    'the certificate is not one that is trusted here; NODE_EXTRA_CA_CERTS=FILE names further authorities',
  ],
  [/Header overflow/i, 'the answer has more than 16 KiB of headers'],
  [
    /Parse Error|HPE_/,
    'what was answered is no HTTP/1.1: is this the right port, and should it be https://?',
  ],
  [
    /socket hang up|ECONNRESET|closed before/,
    'the connection was closed without an answer: the webhook’s own log should say why, such as an exception',
  ],
  [TIME_IS_OVER, '--timeout SECONDS waits longer; the protocol lets a service wait 10 seconds (TRN-22)'],
];

/** @param options.except more time is no help where the webhook waits for what never comes */
function connectionHints(noAnswer: string, options: { readonly except?: RegExp } = {}): readonly string[] {
  return CONNECTION.filter(([symptom]) => symptom !== options.except && symptom.test(noAnswer)).map(
    ([, hint]) => hint,
  );
}

function placeHints({ address }: Circumstances, answer: Answer): readonly string[] {
  const { status } = answer;
  const isOurs = header(answer, 'sv-proxy-origin') === 'upstream';
  const hasCode = typeof jsonObject(answer)?.['code'] === 'string';
  if (isOurs || hasCode) return [];
  const place = `${address.webhookUrl}/v1/…`;
  if (status >= 300 && status < 400)
    return [
      `the suite follows no redirect, nor does a service: the webhook has to answer at ${place} itself`,
    ];
  if (status === 404) return [`a 404 without a code may be a router's: does ${place} lead to the webhook?`];
  if (status === 502 || status === 503 || status === 504)
    return [
      `a ${status} without a code may come from something in front of the webhook that does not reach it`,
    ];
  if (status === 500)
    return ['a 500 without a code is mostly an exception: the webhook’s own log should say which'];
  return [];
}

function signatureHints({ address, sent, clockAheadSeconds = 0 }: Circumstances): readonly string[] {
  const url = new URL(address.webhookUrl);
  const hints: string[] = [];
  if (Math.abs(clockAheadSeconds) > SUSPECT_CLOCK_SECONDS)
    hints.push(
      `the webhook’s clock is ${Math.abs(clockAheadSeconds)} seconds ${clockAheadSeconds > 0 ? 'ahead of' : 'behind'} ` +
        'the one here: both have to be set (SIG-48, SIG-49)',
    );
  hints.push(
    'build the base from what was received, print it, and compare it line by line with the one shown here',
  );
  if (url.port !== '')
    hints.push(`"@authority" has the port: ${url.host} (SIG-11), whatever Host says (SIG-12)`);
  if (url.pathname !== '/') hints.push(`"@path" begins with ${url.pathname} (SIG-15, SIG-16)`);
  if (sent !== undefined && sent.body.byteLength > 0)
    hints.push(
      'the digest is made over the bytes as received, before any JSON is read and written again (SIG-52)',
    );
  else hints.push('without a body there are neither content-type nor content-digest in the list (SIG-03)');
  hints.push(
    isByCode(sent)
      ? 'the key is the code itself: the 36 ASCII bytes of the UUID in the body (EXC-03)'
      : 'the key is the 32 bytes that hmacSecret decodes to, not its text (SIG-43)',
  );
  return hints;
}
