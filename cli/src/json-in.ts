/** What a text says in JSON; undefined where it is none. The reason is not passed on: it could quote a secret. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A path with those parameters that were given. */
export const withQuery = (path: string, parameters: Readonly<Record<string, string | undefined>>): string =>
  `${path}?${new URLSearchParams(given(parameters) as Record<string, string>).toString()}`;

/** Without the members that nobody gave. */
export const given = (members: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
