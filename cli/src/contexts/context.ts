/** A login that is kept under a name: where, and as whom. Holds no secret. */
export type Context = AdminContext | AgentContext;

interface CommonContext {
  readonly name: string;
  /** Of the service, without a trailing slash. */
  readonly baseUrl: string;
}

/** A person, signed in by browser; or automation with an admin key. */
export interface AdminContext extends CommonContext {
  readonly kind: 'admin';
  readonly email: string;
}

export interface AgentContext extends CommonContext {
  readonly kind: 'agent';
  /** The first characters of its key, to tell agents apart. */
  readonly keyPrefix: string;
}

/** What a context acts with. */
export type ContextSecrets = SessionSecrets | KeySecrets;

/** Of a sign-in by browser (`/api/cli/login/…`). */
export interface SessionSecrets {
  readonly kind: 'session';
  readonly accessToken: string;
  /** ISO 8601, by the clock of this machine. */
  readonly accessExpiresAt: string;
  readonly refreshToken: string;
}

export interface KeySecrets {
  readonly kind: 'key';
  /** `svagent_…` or `svadmin_…`. */
  readonly key: string;
  /** Private JWK that sealed credentials are opened with; of agents. */
  readonly sealingKey?: Readonly<Record<string, string>> | undefined;
}
