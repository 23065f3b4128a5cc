import { isServiceName } from '@svault/shared';
import { orElse, usage } from '../failure.ts';
import { unique } from '../one-by-one.ts';
import { plainLine } from '../output/plain-line.ts';

/**
 * A service name as a person typed it (PROTOCOL.md section 5). Terminals spell an umlaut in one way or another: the name has it
 * in one.
 * @throws Failure usage
 */
export function serviceNameFrom(text: string): string {
  const name = text.normalize();
  if (isServiceName(name)) return name;
  throw usage(
    `“${plainLine(text).slice(0, 150)}” is not a name of a credential: 1 to 128 characters, no “/”, no control characters, no spaces around it`,
  );
}

/** Service names that a person typed with commas between them, each once. @throws Failure usage */
export function serviceNamesIn(text: string): readonly string[] {
  const names = text.split(',').map((name) => name.trim());
  return unique(names.filter((name) => name !== '').map(serviceNameFrom));
}

/** @param name as `serviceNameFrom` gives it */
export const tokenPath = (name: string): string => `/api/tokens/${encodeURIComponent(name)}`;

/**
 * A call of the control plane that is about a token. Says more where there is none: the control plane says the same of whatever
 * is not there.
 * @throws Failure
 */
export const aboutToken = <T>(name: string, call: Promise<T>): Promise<T> =>
  orElse(call, (error) => {
    if (error.code !== 'NOT_FOUND') throw error;
    throw error.saying(`there is no credential ${name}: svault ls lists them`, 'notFound');
  });
