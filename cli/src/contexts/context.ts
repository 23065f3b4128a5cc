import * as z from 'zod';

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

/** Of a sign-in by browser (`/api/cli/login/…`). */
const sessionSchema = z.object({
  kind: z.literal('session'),
  accessToken: z.string(),
  /** ISO 8601, by the clock of this machine. */
  accessExpiresAt: z.string(),
  refreshToken: z.string(),
});
const keySchema = z.object({
  kind: z.literal('key'),
  /** `svagent_…` or `svadmin_…`. */
  key: z.string(),
  /** Private JWK that sealed credentials are opened with; of agents. */
  sealingKey: z.record(z.string(), z.string()).optional(),
});

/** What a context acts with, as it is kept in a file or a keychain. */
export const contextSecretsSchema = z.discriminatedUnion('kind', [sessionSchema, keySchema]);
export type SessionSecrets = Readonly<z.infer<typeof sessionSchema>>;
export type KeySecrets = Readonly<z.infer<typeof keySchema>>;
export type ContextSecrets = SessionSecrets | KeySecrets;

/** A login that is kept, and where its secrets are. */
export type KeptContext = Context & {
  readonly secrets: {
    /** The system's keychain, or a file that its user alone can read. */
    readonly home: 'keychain' | 'file';
    /** New with each sign-in, so that no secret is ever taken for that of another control plane or person. */
    readonly id: string;
  };
};
