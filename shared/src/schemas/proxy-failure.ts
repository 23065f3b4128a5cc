import * as z from 'zod';
import { markersIn } from '../proxy-headers.ts';
import { allowedHostFor, isAllowedHost } from '../allowed-hosts.ts';
import { REQUEST_DENIALS, type RequestDenial, requestDenialText } from '../request-rules/request-denial.ts';
import type { ProxyConfig } from './storage.ts';

/** Why a call of an upstream failed, or was not made by the egress rules of its caller. */
const CALL_FAILURES = {
  dns: 'could not reach HOST: its name did not resolve',
  refused: 'could not reach HOST: it refused the connection',
  unreachable: 'could not reach HOST: the network has no way to it',
  certificate: 'could not reach HOST: its certificate does not verify',
  tls: 'could not reach HOST: it does not speak TLS as it should',
  cut: 'got no answer from HOST: the connection was cut',
  no_http: 'got no answer from HOST: what it sent is not HTTP',
  timeout: 'got no answer from HOST in time; try again later',
  address: 'may not call HOST: its address is not public',
  plain_http: 'may not call HOST by plain http',
} as const;
export type CallFailure = keyof typeof CALL_FAILURES;

/** Why a stored configuration may not use a record (PROTOCOL.md section 5.6). */
export type DestinationProblem =
  /** The upstream's address is not a valid one. */
  | { readonly cause: 'url' }
  /** The record's owner did not allow this scheme, host and port together. */
  | { readonly cause: 'host' }
  /** A template sets a header that is not permitted, such as one that routes the message. */
  | { readonly cause: 'template' }
  /** The credential would go into this header, which the record's owner did not allow. */
  | { readonly cause: 'header'; readonly header?: string | undefined }
  /** The ticket is for another record than the configuration. */
  | { readonly cause: 'service' };

const CALL_CAUSES = Object.keys(CALL_FAILURES) as CallFailure[];

/** The members of a refusal that say why. */
export const proxyFailureSchema = z.object({
  cause: z.enum([...CALL_CAUSES, ...REQUEST_DENIALS, 'url', 'host', 'template', 'header', 'service']),
  header: z.string().max(256).optional(),
});
/** Why a webhook has no answer of an upstream (PROTOCOL.md PRX-50). */
export type ProxyFailure = Readonly<z.infer<typeof proxyFailureSchema>>;

const isCallFailure = (cause: string): cause is CallFailure => Object.hasOwn(CALL_FAILURES, cause);
const isRequestDenial = (cause: string): cause is RequestDenial =>
  REQUEST_DENIALS.some((each) => each === cause);

type Destination = Pick<ProxyConfig, 'upstreamUrl' | 'serviceName' | 'headerTemplates'>;

/**
 * What to read about a call of an upstream that failed: the host, why, and who can help.
 *
 * @param by the program that called
 */
export function callFailureText(
  cause: CallFailure,
  upstreamUrl: string,
  by: 'webhook' | 'control plane' = 'webhook',
): string {
  const what = CALL_FAILURES[cause].replace('HOST', new URL(upstreamUrl).host);
  const isForbidden = cause === 'address' || cause === 'plain_http';
  const remedy = isForbidden ? ` The operator of the ${by} can allow it by SV_EGRESS_ALLOW.` : '';
  return `The ${by} ${what}.${remedy}`;
}

/**
 * What to read about a proxied call that the webhook refused or that failed, from the proxy's configuration and the word
 * for the cause alone, so that a webhook cannot put a text of its own in front of an agent.
 */
export function proxyFailureText(failure: ProxyFailure, config: Destination): string {
  const { cause, header: named } = failure;
  if (isCallFailure(cause)) return callFailureText(cause, config.upstreamUrl);
  if (isRequestDenial(cause)) return requestDenialText(cause, config.serviceName);
  switch (cause) {
    case 'url':
      return 'The proxy’s upstream is not an http(s) URL without userinfo and fragment.';
    case 'template':
      return 'The proxy’s templates set a header that no template may set.';
    case 'service':
      return 'The ticket is for another credential than the proxy’s.';
    case 'header': {
      const headers = markedHeaders(config);
      const header = headers.find((name) => name === named?.toLowerCase()) ?? headers.join('` or `');
      const command = allowing(config);
      if (command === undefined) return 'The proxy’s header is not among the credential’s allowed headers.';
      return `Header \`${header}\` is not an allowed header of \`${config.serviceName}\`. ${command}`;
    }
    case 'host': {
      const { host, protocol } = new URL(config.upstreamUrl);
      const command = allowing(config);
      if (command === undefined)
        return 'The upstream’s scheme, host and port are not among the credential’s allowed hosts.';
      const called =
        protocol === 'http:'
          ? `is called by plain http, which the allowed hosts of \`${config.serviceName}\` do not include`
          : `is not an allowed host of \`${config.serviceName}\``;
      return `Host \`${host}\` ${called}. ${command}`;
    }
  }
}

const markedHeaders = ({ headerTemplates }: Destination): readonly string[] =>
  Object.entries(headerTemplates)
    .filter(([, value]) => markersIn(value) > 0)
    .map(([name]) => name.toLowerCase());

/** Safe to copy into a shell: the control plane chose the address, the name and the headers. */
const PLAIN_WORD = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

/** @returns undefined where a shell could misread the command */
function allowing(config: Destination): string | undefined {
  const { serviceName, upstreamUrl } = config;
  const entry = allowedHostFor(new URL(upstreamUrl));
  const headers = markedHeaders(config);
  if (!isAllowedHost(entry) || ![serviceName, ...headers].every((word) => PLAIN_WORD.test(word)))
    return undefined;
  const flags = [`--allow-host ${entry}`, ...headers.map((name) => `--allow-header ${name}`)];
  return `Its owner runs \`svault set ${serviceName} ${flags.join(' ')}\`, which replaces the allowed hosts and asks for the secret again.`;
}
