import { allowedHostFor, isAllowedDestination } from '@svault/shared/schemas';
import { shellWord } from '../parts/shell-word.ts';

/** What is against a destination, and the command that mends it. */
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
  },
  serviceName: string,
  sealed: { readonly allowedHosts: readonly string[]; readonly allowedHeaders: readonly string[] },
): DestinationProblem | undefined {
  const { upstreamUrl, headerTemplates = {} } = proxy;
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
  const header = Object.entries(headerTemplates).find(
    ([name, value]) => /\$\{TOKEN\}|\$<TOKEN>/.test(value) && !allowed.includes(name.toLowerCase()),
  )?.[0];
  if (header === undefined) return undefined;
  return {
    text: `${header} is not among the allowed headers of the credential.`,
    command: `svault set ${word} --allow-header ${header}`,
  };
}
