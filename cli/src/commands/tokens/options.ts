import type { StoreBody } from '@svault/shared/schemas';
import { type Command, Option } from 'commander';
import { usage } from '../../failure.ts';
import { given } from '../../json-in.ts';
import { collect } from '../declare.ts';

/** What `create` and `set` take: where the secret comes from, and what it is sealed with at the webhook (protocol 5.5). */
export interface SecretOptions {
  readonly preset?: PresetName;
  /** What a preset says of the record. */
  readonly presetMembers?: Readonly<Record<string, unknown>>;
  readonly fromFile?: string;
  readonly value?: string;
  readonly body?: string;
  /** `NAME=@FILE` or `NAME=TEXT`, once for each. */
  readonly field?: readonly string[];
  readonly delivery?: (typeof DELIVERIES)[number];
  readonly allowHost?: readonly string[];
  readonly allowHeader?: readonly string[];
  readonly allowQuery?: readonly string[];
  /** As `parseRequestRule` reads them. */
  readonly allowRequest?: readonly string[];
  readonly allowShortSecret?: true;
  /** For what a passkey has to approve, separated by commas. */
  readonly requireApproval?: string;
  readonly standing?: string;
  readonly recipient?: readonly string[];
  readonly expiresAt?: string;
}

export const addSecretOptions = (command: Command): Command =>
  command
    .addOption(
      new Option('--preset <preset>', 'a record of a known kind; asks for what it needs').choices(
        PRESET_NAMES,
      ),
    )
    .option(
      '--from-file <file>',
      'read the secret from a file, without a line break at its end; - is stdin, as is a stdin that is no terminal',
    )
    .option(
      '--value <secret>',
      'the secret itself: other users of this machine can see it, and your shell keeps it',
    )
    .option(
      '--body <file>',
      'read all of what the webhook stores from a JSON file (protocol 5.5); - is stdin',
    )
    .option(
      '--field <name=value>',
      'a field of the type, such as privateKey=@key.pem or minter.type=aws-sts; @ reads a file',
      collect,
    )
    .addOption(new Option('--delivery <how>', 'how it may be delivered').choices(DELIVERIES))
    .option(
      '--allow-host <host>',
      'a host that a proxy may send it to: HOST or HOST:PORT by https, http://HOST:PORT by plain http; may be repeated; none: no host',
      collect,
    )
    .option(
      '--allow-header <name>',
      'a header that a proxy may put it in; may be repeated; none: no header',
      collect,
    )
    .option(
      '--allow-query <name>',
      'a query parameter that a proxy of an HTTP API may put it in; may be repeated; none: no parameter',
      collect,
    )
    .option(
      '--allow-request <rule>',
      'what a proxy may ask with it, and nothing else: "GET,POST api.github.com/repos/acme/*", "tools search_* /mcp"; may be repeated; none: no rule',
      collect,
    )
    .option(
      '--allow-short-secret',
      'let proxies inject it although it has less than 80 bits (codes, PINs, under 16 characters): anyone who can use the proxy could discover it',
    )
    .option(
      '--require-approval <uses>',
      'what a person approves first with a passkey at the webhook: credential (that it is handed out), proxy (each request), or credential,proxy; none: nothing',
    )
    .option(
      '--standing <duration>',
      'how long such an approval may cover the same use again, from 1m to 8h (default: each use is approved)',
    )
    .option(
      '--recipient <jwk>',
      'for sealed delivery: the public key (JWK) of whom it is for, or @FILE; may be repeated',
      collect,
    )
    .option('--expires-at <time>', 'when it expires, as 2026-11-20T12:00:00Z');

/** Records of a known kind. */
const PRESET_NAMES = [
  'aws-sts',
  'gcp-service-account',
  'github-app',
  'oauth',
  'oauth-google',
  'oauth-github',
  'oauth-microsoft',
] as const;
export type PresetName = (typeof PRESET_NAMES)[number];

/** How a token is described, as flags. */
export interface DescriptionOptions {
  readonly name?: string;
  readonly description?: string;
  readonly notes?: string;
  readonly tags?: string;
}

/** Members of `POST` and `PATCH` of `/api/tokens`; members that are not given are left out. */
export function describedBy({ name, description, notes, tags }: DescriptionOptions): object {
  const trimmed = tags?.split(',').map((tag) => tag.trim());
  return given({ displayName: name, description, notes, tags: trimmed?.filter((tag) => tag !== '') });
}

/** What the control plane is told of a record that is about to be stored: for what an approval is needed. */
export const declaredApproval = ({ approval }: StoreBody): object => given({ approval: approval?.for });

/** Body of `POST …/store-ticket`: which version may be replaced. @param text of `--if-version`. @throws Failure usage */
export function versionToReplace(text: string | undefined): { readonly ifv?: number } {
  if (text === undefined) return {};
  if (/^\d{1,15}$/.test(text)) return { ifv: Number(text) };
  throw usage('--if-version takes the version that svault show prints, or 0 for none');
}

/** As `@svault/shared/schemas` has them, which takes longer to load than `--help` may; a test compares the two. */
export const TOKEN_TYPES = ['JWT', 'PlainText', 'Certificate', 'SSHKey', 'RawCredential', 'TOTP'] as const;
export const DELIVERIES = ['any', 'sealed', 'proxy-only'] as const;
