import { usage } from '../../failure.ts';
import { plainLine } from '../../output/plain-line.ts';
import type { Members } from './record-members.ts';
import { TOKEN_TYPES } from './options.ts';

/**
 * The type of a record, from the command line, else from its body, else as it was.
 * @throws Failure usage where the first two differ
 */
export function tokenTypeOf(
  type: TokenType | undefined,
  { tokenType }: Members,
  otherwise: string,
): TokenType {
  if (type !== undefined && tokenType !== undefined && tokenType !== type)
    throw usage(`--type says ${type}, and --body says something else`);
  const said = type ?? tokenType ?? otherwise;
  const known = TOKEN_TYPES.find((each) => each === said);
  if (known === undefined)
    throw usage(
      `${typeof said === 'string' ? plainLine(said).slice(0, 50) : 'what --body says'} is not a type of credential: ${TOKEN_TYPES.join(', ')}`,
    );
  return known;
}

export type TokenType = (typeof TOKEN_TYPES)[number];

/** A secret that a record of its type needs, and what a person calls it. */
export interface NeededSecret {
  readonly path: readonly [string] | readonly [string, string];
  readonly called: string;
  /** PEM and OpenSSH keys end with a line break, and some programs read none without it. */
  readonly endsLine?: true;
}

const needed = (called: string, ...path: NeededSecret['path']): NeededSecret => ({ path, called });
const neededLines = (called: string, ...path: NeededSecret['path']): NeededSecret => ({
  path,
  called,
  endsLine: true,
});

/** The secrets of a type (protocol 5.5, the table), those that the record has already included; the main one first. */
function secretsOf(tokenType: TokenType, members: Members): readonly NeededSecret[] {
  switch (tokenType) {
    case 'PlainText':
      return [needed('value', 'value')];
    case 'JWT':
      return [needed('access token', 'accessToken')];
    case 'Certificate':
      return [neededLines('certificate', 'certificate'), neededLines('private key', 'privateKey')];
    case 'SSHKey':
      return [neededLines('private key', 'privateKey')];
    case 'TOTP':
      return members['otpauthUri'] === undefined
        ? [needed('secret in base32, or otpauth:// address', 'secret')]
        : [];
    case 'RawCredential':
      return minterSecret(members['minter']);
  }
}

function minterSecret(minter: unknown): readonly NeededSecret[] {
  if (minter === undefined) return [needed('value', 'value')];
  const type = typeof minter === 'object' && minter !== null && 'type' in minter ? minter.type : undefined;
  switch (type) {
    case 'aws-sts':
      return [needed('secret access key', 'minter', 'secretAccessKey')];
    case 'gcp-service-account':
    case 'github-app':
      return [neededLines('private key', 'minter', 'privateKey')];
    default:
      throw usage('minter.type is one of aws-sts, gcp-service-account, github-app');
  }
}

/**
 * The one secret that is still to be read.
 * @returns undefined where the record has all of them
 * @throws Failure usage where more than one is missing
 */
export function missingSecret(tokenType: TokenType, members: Members): NeededSecret | undefined {
  const missing = secretsOf(tokenType, members).filter(({ path }) => !has(members, path));
  const [first, second] = missing;
  if (second === undefined) return first;
  throw usage(`a ${tokenType} needs a ${second.called} as well: --field ${second.path.join('.')}=@FILE`);
}

function has(members: Members, [first, second]: readonly [string, string?]): boolean {
  const { [first]: outer } = members;
  if (second === undefined || outer === undefined) return outer !== undefined;
  return (outer as Members)[second] !== undefined;
}
