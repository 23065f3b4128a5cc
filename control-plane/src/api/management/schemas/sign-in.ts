import { z } from 'zod';
import { ROLES } from '../../../core/actor.ts';
import { EMAIL_CHARACTERS } from '../../../core/user.ts';
import { PASSWORD_CHARACTERS } from '../../../sign-in/passwords.ts';
import { isLoopbackRedirect } from '../../../sign-in/loopback-redirect.ts';
import { CODE_CHALLENGE_FORM, CODE_VERIFIER_FORM } from '../../../sign-in/pkce.ts';

/** More than any password or token is long; what does not fit is wrong like anything else, not malformed. */
const SECRET_CHARACTERS = 1_024;

export const passwordLoginSchema = z
  .strictObject({
    email: z.string().min(1).max(EMAIL_CHARACTERS),
    password: z.string().min(1).max(SECRET_CHARACTERS),
  })
  .meta({ id: 'PasswordLogin' });

const { min, max } = PASSWORD_CHARACTERS;

export const newPasswordSchema = z
  .strictObject({
    currentPassword: z.string().max(SECRET_CHARACTERS).optional().meta({
      description: 'Needed where there is one, but for ten minutes after a sign-in by one-time link',
    }),
    newPassword: z
      .string()
      .max(SECRET_CHARACTERS)
      .meta({
        description: `${min} to ${max} characters, not the e-mail address`,
        override: { type: 'string', minLength: min, maxLength: max },
      }),
  })
  .meta({ id: 'NewPassword' });

/**
 * Anybody may write it, and a person reads it while they decide: one line, whose every character shows, and with no
 * heap of marks that covers the lines below. So it turns no reading direction around either.
 */
const CLIENT_FORM = /^(?!.*\p{M}{4})[^\p{C}\p{Zl}\p{Zp}\s](?:[^\p{C}\p{Zl}\p{Zp}]*[^\p{C}\p{Zl}\p{Zp}\s])?$/u;

export const cliLoginRequestSchema = z
  .strictObject({
    codeChallenge: z
      .string()
      .regex(CODE_CHALLENGE_FORM, 'must be the base64url of a SHA-256 (RFC 7636, S256)'),
    redirectUri: z
      .string()
      .refine(isLoopbackRedirect, 'must be http://127.0.0.1:PORT/… or http://[::1]:PORT/… without a query')
      .optional()
      .meta({
        description: 'Loopback address that gets the code; without it the page shows the code to paste',
        examples: ['http://127.0.0.1:49152/callback'],
      }),
    client: z
      .string()
      .max(100)
      .regex(CLIENT_FORM, 'must be one line of characters that show, without spaces around it')
      .optional()
      .meta({ description: 'Shown to the person who approves' }),
  })
  .meta({ id: 'CliLoginRequest' });

export const cliLoginSchema = z
  .object({
    requestId: z.string().meta({ examples: ['clr_…'], description: 'Also the state of the redirect' }),
    authorizeUrl: z.string().meta({ description: 'To be opened in a browser' }),
    userCode: z.string().meta({ examples: ['WDJB-MJHT'], description: 'To be compared with the page' }),
    expiresInSeconds: z.int(),
  })
  .meta({ id: 'CliLogin' });

export const cliCodeSchema = z
  .strictObject({
    requestId: z.string().max(100).optional(),
    code: z.string().min(1).max(SECRET_CHARACTERS),
    codeVerifier: z.string().regex(CODE_VERIFIER_FORM, 'must be a code verifier (RFC 7636)'),
  })
  .meta({ id: 'CliCode' });

export const cliRefreshSchema = z
  .strictObject({ refreshToken: z.string().min(1).max(SECRET_CHARACTERS) })
  .meta({ id: 'CliRefresh' });

export const cliGrantSchema = z
  .object({
    accessToken: z.string().meta({ examples: ['svcli_…'] }),
    refreshToken: z
      .string()
      .meta({ examples: ['svclir_…'], description: 'Takes the place of the former one' }),
    expiresInSeconds: z.int().meta({ description: 'Until the access token ends' }),
    user: z.object({
      id: z.string(),
      email: z.string(),
      role: z.enum(ROLES),
      isOwner: z.boolean(),
      vaultId: z.string(),
    }),
  })
  .meta({ id: 'CliGrant' });
