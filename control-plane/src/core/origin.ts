/** How a request came in: the credential endpoint and admin keys, MCP, a proxy, `svault` signed in, a browser signed in. */
export const CHANNELS = ['rest', 'mcp', 'proxy', 'cli', 'console'] as const;
export type Channel = (typeof CHANNELS)[number];

/** Where the request came from that caused an event. */
export interface Origin {
  /** Also in the response and in the logs. Undefined for an event that stands for several requests. */
  readonly requestId?: string | undefined;
  readonly channel?: Channel | undefined;
  /** The client's IP address. */
  readonly address?: string | undefined;
  /** The id of an admin key or session, or the first characters of an agent's or proxy's key. */
  readonly authenticatedBy?: string | undefined;
  /** What the client calls itself: shown, never trusted. */
  readonly userAgent?: string | undefined;
}

const ORIGIN_MEMBERS = [
  'requestId',
  'channel',
  'address',
  'authenticatedBy',
  'userAgent',
] as const satisfies readonly (keyof Origin)[];

/** What two requests have in common, for an event that stands for both. */
export function commonOrigin(one: Origin | undefined, other: Origin | undefined): Origin | undefined {
  if (one === undefined || other === undefined) return undefined;
  return Object.fromEntries(
    ORIGIN_MEMBERS.filter((name) => one[name] !== undefined && one[name] === other[name]).map((name) => [
      name,
      one[name],
    ]),
  );
}
