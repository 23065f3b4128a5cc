import * as z from 'zod';
import { markedNames } from '../proxy-headers.ts';
import { AWS_REQUEST_PROBLEMS, type AwsRequestProblem, awsRequestProblemText } from '../aws-request.ts';
import { allowedHostFor, isAllowedHost } from '../allowed-hosts.ts';
import { TARGET_PROBLEMS, type TargetProblem, targetProblemText } from '../http-target.ts';
import { REQUEST_DENIALS, type RequestDenial, requestDenialText } from '../request-rules/request-denial.ts';
import { credentialHeaders } from './aws-signing.ts';
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
  redirect:
    'could not follow a redirect of HOST: it leads too far, to an address that may not be called, or to no answer',
  address: 'may not call HOST: its address is not public',
  plain_http: 'may not call HOST by plain http',
} as const;
export type CallFailure = keyof typeof CALL_FAILURES;

/** Why a stored configuration may not use a record (PROTOCOL.md section 5.6). */
export type DestinationProblem =
  /** The upstream's address is not a valid one. */
  | { readonly cause: 'url' }
  /** The settings for signatures are invalid, or neither they nor the address name region and service. */
  | { readonly cause: 'signing' }
  /** The record's owner did not allow this scheme, host and port together. */
  | { readonly cause: 'host' }
  /** A template sets a header that is not permitted, such as one that routes the message. */
  | { readonly cause: 'template' }
  /** The credential would go into this header, which the record's owner did not allow. */
  | { readonly cause: 'header'; readonly header?: string | undefined }
  /** The credential would go into this parameter of the query, which the record's owner did not allow. */
  | { readonly cause: 'parameter'; readonly parameter?: string | undefined }
  /** The ticket is for another record than the configuration. */
  | { readonly cause: 'service' }
  /** The request is for an HTTP API and the configuration for MCP, or the reverse. */
  | { readonly cause: 'kind' };

const CALL_CAUSES = Object.keys(CALL_FAILURES) as CallFailure[];

/** The members of a refusal that say why. */
export const proxyFailureSchema = z.object({
  cause: z.enum([
    ...CALL_CAUSES,
    ...REQUEST_DENIALS,
    ...TARGET_PROBLEMS,
    ...AWS_REQUEST_PROBLEMS,
    'url',
    'host',
    'template',
    'signing',
    'header',
    'parameter',
    'service',
    'kind',
  ]),
  header: z.string().max(256).optional(),
  parameter: z.string().max(256).optional(),
});
/** Why a webhook has no answer of an upstream (PROTOCOL.md PRX-50). */
export type ProxyFailure = Readonly<z.infer<typeof proxyFailureSchema>>;

const isCallFailure = (cause: string): cause is CallFailure => Object.hasOwn(CALL_FAILURES, cause);
const isRequestDenial = (cause: string): cause is RequestDenial =>
  REQUEST_DENIALS.some((each) => each === cause);
const isTargetProblem = (cause: string): cause is Exclude<TargetProblem, RequestDenial> =>
  TARGET_PROBLEMS.some((each) => each === cause);
const isAwsRequestProblem = (cause: string): cause is AwsRequestProblem =>
  AWS_REQUEST_PROBLEMS.some((each) => each === cause);

type Destination = Pick<
  ProxyConfig,
  'upstreamUrl' | 'serviceName' | 'headerTemplates' | 'queryTemplates' | 'signing'
>;

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
  const { cause } = failure;
  if (isCallFailure(cause)) return callFailureText(cause, config.upstreamUrl);
  if (isRequestDenial(cause)) return requestDenialText(cause, config.serviceName);
  if (isTargetProblem(cause)) return targetProblemText(cause);
  if (isAwsRequestProblem(cause)) return awsRequestProblemText(cause);
  switch (cause) {
    case 'url':
      return 'The proxy’s upstream is not an http(s) URL without userinfo and fragment, or has a query that requests would add to.';
    case 'template':
      return 'The proxy’s templates set a header or a parameter that no template may set.';
    case 'signing':
      return 'The proxy’s settings for signatures are not valid: its region and its service are not known, or a template has a marker.';
    case 'kind':
      return 'The webhook’s configuration of the proxy is for another kind of request: of MCP, or of an HTTP API.';
    case 'service':
      return 'The ticket is for another credential than the proxy’s.';
    case 'header': {
      const headers = credentialHeaders(config);
      const header = headers.find((name) => name === failure.header?.toLowerCase()) ?? headers.join('` or `');
      const command = allowing(config);
      if (command === undefined) return 'The proxy’s header is not among the credential’s allowed headers.';
      return `Header \`${header}\` is not an allowed header of \`${config.serviceName}\`. ${command}`;
    }
    case 'parameter': {
      const parameters = markedNames(config.queryTemplates ?? {});
      const parameter = parameters.find((name) => name === failure.parameter) ?? parameters.join('` or `');
      const command = allowing(config);
      if (command === undefined)
        return 'The proxy’s parameter is not among the query parameters that the credential allows.';
      return `Parameter \`${parameter}\` is not an allowed query parameter of \`${config.serviceName}\`. ${command}`;
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

/** Safe to copy into a shell: the control plane chose the address, the name, the headers and the parameters. */
const PLAIN_WORD = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

/** @returns undefined where a shell could misread the command */
function allowing(config: Destination): string | undefined {
  const { serviceName, upstreamUrl, queryTemplates = {} } = config;
  const entry = allowedHostFor(new URL(upstreamUrl));
  const headers = credentialHeaders(config);
  const parameters = markedNames(queryTemplates);
  const words = [serviceName, ...headers, ...parameters];
  if (!isAllowedHost(entry) || !words.every((word) => PLAIN_WORD.test(word))) return undefined;
  const flags = [
    `--allow-host ${entry}`,
    ...headers.map((name) => `--allow-header ${name}`),
    ...parameters.map((name) => `--allow-query ${name}`),
  ];
  return `Its owner runs \`svault set ${serviceName} ${flags.join(' ')}\`, which replaces the allowed hosts and asks for the secret again.`;
}
