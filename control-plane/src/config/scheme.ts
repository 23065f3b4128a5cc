/** Plain http is for one machine only. @returns what is wrong with a URL's scheme */
export function problemOfScheme({ protocol, hostname }: URL): string | undefined {
  const isLoopback =
    /^(?:.+\.)?localhost$/.test(hostname) ||
    hostname === '[::1]' ||
    /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(hostname);
  if (protocol === 'https:' || (protocol === 'http:' && isLoopback)) return undefined;
  return 'must start with https:// unless its host is a loopback address';
}
