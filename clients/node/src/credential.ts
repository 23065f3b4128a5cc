type Members = Readonly<Record<string, unknown>>;

/** A service that the agent may ask for. */
export interface Grant {
  readonly serviceName: string;
  /** Undefined: until it is revoked. */
  readonly expiresAt: Date | undefined;
}

/** The members of a {@link Credential}. */
export interface CredentialMembers {
  readonly serviceName: string;
  readonly accessToken: string;
  /** `PlainText` if omitted. */
  readonly tokenType?: string;
  /** Now if omitted. */
  readonly createdAt?: Date;
  readonly expiryTime?: Date | undefined;
  readonly refreshToken?: string | undefined;
  readonly privateKey?: string | undefined;
  readonly publicKey?: string | undefined;
  readonly fingerprint?: string | undefined;
  readonly expiresIn?: number | undefined;
}

/** A credential in the clear. Its secrets are neither printed by `console.log` nor written by `JSON.stringify`. */
export class Credential {
  readonly serviceName: string;
  /** `PlainText`, `JWT`, `Certificate`, `SSHKey`, `RawCredential` or `TOTP`. */
  readonly tokenType: string;
  readonly createdAt: Date;
  readonly expiryTime: Date | undefined;
  /** `SSHKey`. */
  readonly publicKey: string | undefined;
  readonly fingerprint: string | undefined;
  /** `TOTP`: seconds for which the code still holds. */
  readonly expiresIn: number | undefined;
  readonly #accessToken: string;
  readonly #refreshToken: string | undefined;
  readonly #privateKey: string | undefined;

  /** For tests of an agent; otherwise `SvaultClient.get` makes it. */
  constructor(members: CredentialMembers) {
    this.serviceName = members.serviceName;
    this.tokenType = members.tokenType ?? 'PlainText';
    this.createdAt = members.createdAt ?? new Date();
    this.expiryTime = members.expiryTime;
    this.publicKey = members.publicKey;
    this.fingerprint = members.fingerprint;
    this.expiresIn = members.expiresIn;
    this.#accessToken = members.accessToken;
    this.#refreshToken = members.refreshToken;
    this.#privateKey = members.privateKey;
  }

  /** The secret: a token, a code, the PEM chain of a certificate or a private key of SSH. */
  get accessToken(): string {
    return this.#accessToken;
  }

  get refreshToken(): string | undefined {
    return this.#refreshToken;
  }

  /** `Certificate`: PEM. */
  get privateKey(): string | undefined {
    return this.#privateKey;
  }
}

/**
 * Reads what a webhook delivered (PROTOCOL.md, section 5.4).
 * @throws TypeError for anything else; the message holds nothing of it
 */
export function credentialIn(envelope: Members): Credential {
  const token = membersOf(envelope['token']);
  return new Credential({
    serviceName: text(token, 'serviceName'),
    accessToken: text(token, 'accessToken'),
    tokenType: text(token, 'tokenType'),
    createdAt: time(text(token, 'createdAt')),
    expiryTime: optionalTime(token, 'expiryTime'),
    refreshToken: optionalText(token, 'refreshToken'),
    privateKey: optionalText(token, 'privateKey'),
    publicKey: optionalText(token, 'publicKey'),
    fingerprint: optionalText(token, 'fingerprint'),
    expiresIn: optionalSeconds(token, 'expiresIn'),
  });
}

/** Reads the answer of the control plane. @throws TypeError for anything but a list of grants */
export function grantsIn({ grants }: Members): readonly Grant[] {
  if (!Array.isArray(grants)) throw new TypeError('no grants');
  return grants.map(membersOf).map((grant) => ({
    serviceName: text(grant, 'serviceName'),
    expiresAt: optionalTime(grant, 'grantExpiresAt'),
  }));
}

function membersOf(value: unknown): Members {
  if (!(value instanceof Object)) throw new TypeError('no object');
  return value as Members;
}

function text(members: Members, name: string): string {
  const { [name]: value } = members;
  if (typeof value !== 'string') throw new TypeError(`no text ${name}`);
  return value;
}

const optionalText = (members: Members, name: string): string | undefined =>
  members[name] === undefined || members[name] === null ? undefined : text(members, name);

function optionalTime(members: Members, name: string): Date | undefined {
  const value = optionalText(members, name);
  return value === undefined ? undefined : time(value);
}

function time(value: string): Date {
  const date = new Date(value);
  if (Number.isNaN(date.getTime())) throw new TypeError('no time');
  return date;
}

function optionalSeconds(members: Members, name: string): number | undefined {
  const { [name]: value } = members;
  if (value === undefined) return undefined;
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 1)
    throw new TypeError('no seconds');
  return value;
}
