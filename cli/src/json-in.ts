/** What a text says in JSON; undefined where it is none. The reason is not passed on: it could quote a secret. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A path with those parameters that were given; a space is `%20`, which every server reads alike (RFC 3986 section 2.1). */
export const withQuery = (path: string, parameters: Readonly<Record<string, string | undefined>>): string =>
  `${path}?${new URLSearchParams(given(parameters) as Record<string, string>).toString().replaceAll('+', '%20')}`;

/** Without the members that nobody gave. */
export const given = (members: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
