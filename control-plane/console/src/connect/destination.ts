import { allowedHostFor, isAllowedDestination } from '@svault/shared/schemas';
import { shellWord } from '../parts/shell-word.ts';

const MARKER = /\$\{TOKEN\}|\$<TOKEN>|\$\{BASIC:/;

/** Why a destination is not allowed, and the command that allows it. */
export interface DestinationProblem {
  readonly text: string;
  readonly command: string;
}

/**
 * What the webhook says at each call of a proxy (`destinationProblem`), before one is made.
 *
 * @param sealed what is stored with the credential of this name
 */
export function destinationProblemOf(
  proxy: {
    readonly upstreamUrl: string;
    readonly headerTemplates?: Readonly<Record<string, string>> | undefined;
    readonly queryTemplates?: Readonly<Record<string, string>> | undefined;
    readonly upstreamAuthType?: string | undefined;
  },
  serviceName: string,
  sealed: {
    readonly allowedHosts: readonly string[];
    readonly allowedHeaders: readonly string[];
    readonly allowedQuery?: readonly string[] | undefined;
  },
): DestinationProblem | undefined {
  const { upstreamUrl, headerTemplates = {}, queryTemplates = {} } = proxy;
  const word = shellWord(serviceName);
  const url = new URL(upstreamUrl);
  if (!isAllowedDestination(url, sealed.allowedHosts)) {
    const host = allowedHostFor(url);
    return {
      text: `${host} is not among the allowed hosts of the credential.`,
      command: `svault set ${word} --allow-host ${host}`,
    };
  }
  const allowed = sealed.allowedHeaders.map((name) => name.toLowerCase());
  // The signature in it names the access key.
  const signature = proxy.upstreamAuthType === 'aws_sigv4' ? ['authorization'] : [];
  const marked = Object.entries(headerTemplates).filter(([, value]) => MARKER.test(value));
  const header = [...signature, ...marked.map(([name]) => name)].find(
    (name) => !allowed.includes(name.toLowerCase()),
  );
  if (header !== undefined)
    return {
      text: `${header} is not among the allowed headers of the credential.`,
      command: `svault set ${word} --allow-header ${header}`,
    };
  const parameter = Object.entries(queryTemplates).find(
    ([name, value]) => MARKER.test(value) && sealed.allowedQuery?.includes(name) !== true,
  )?.[0];
  if (parameter === undefined) return undefined;
  return {
    text: `${parameter} is not among the allowed query parameters of the credential.`,
    command: `svault set ${word} --allow-query ${parameter}`,
  };
}
