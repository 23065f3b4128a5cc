import type { ProjectFile } from '../project-file.ts';

/** How the internet reaches a webhook whose port is not published: one container, and the company that runs the tunnel. */
export interface Tunnel {
  readonly title: string;
  readonly secret?: TunnelSecret;
  /** Further services of compose.yaml, indented by two spaces. */
  readonly services: string;
  /** What the webhook's own service has besides, four spaces in. */
  readonly webhookExtras?: string;
  readonly files?: readonly ProjectFile[];
  readonly folders?: readonly string[];
  /** Further lines of .env. @param url of the webhook */
  readonly settings?: (url: URL) => Readonly<Record<string, string>>;
  /** Why an address cannot be had this way, as the end of a sentence about it. */
  readonly addressProblem: (url: URL) => string | undefined;
  /** For the README: what has to be done where the tunnel comes from. */
  readonly before: (url: URL) => string;
  /** For the README: who terminates TLS, and what they could see (protocol section 1). */
  readonly tls: string;
}

/** What its container proves itself with. */
export interface TunnelSecret {
  readonly name: string;
  readonly question: string;
  readonly begins: string;
  readonly path: string;
  /** The problem of a value, as the end of a sentence; never contains the secret. */
  readonly problem: (secret: string) => string | undefined;
  readonly fileText: (secret: string) => string;
}

/** Shorter ones are none of any provider's. */
export const MIN_SECRET_CHARACTERS = 16;
const MAX_SECRET_CHARACTERS = 4_096;

/** One word, as each provider's are; a pasted command line, or two, is none. */
export const isOneWord = (secret: string): boolean =>
  secret.length >= MIN_SECRET_CHARACTERS &&
  secret.length <= MAX_SECRET_CHARACTERS &&
  /^[\x21-\x7e]+$/.test(secret);
