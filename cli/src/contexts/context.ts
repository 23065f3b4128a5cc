import { z } from 'zod';

/** A login that is kept under a name: where, and as whom. Holds no secret. */
export type Context = AdminContext | AgentContext;

interface CommonContext {
  readonly name: string;
  /** Of the control plane, without a trailing slash. */
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

/** As they are kept, in a file or a keychain. */
export const contextSecretsSchema: z.ZodType<ContextSecrets> = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('session'),
    accessToken: z.string(),
    accessExpiresAt: z.string(),
    refreshToken: z.string(),
  }),
  z.object({
    kind: z.literal('key'),
    key: z.string(),
    sealingKey: z.record(z.string(), z.string()).optional(),
  }),
]);

/** Where the secrets of a login are: in the system's keychain, or in a file that its user alone can read. */
type SecretsHome = 'keychain' | 'file';

/** A login that is kept, and where its secrets are. */
export type KeptContext = Context & {
  readonly secrets: {
    readonly home: SecretsHome;
    /** New with each sign-in, so that no secret is ever taken for that of another control plane or person. */
    readonly id: string;
  };
};
