import {
  type SettingValues,
  SettingsError,
  checked,
  oneOf,
  optional,
  optionalText,
  secretText,
} from '@svault/server-kit/settings';
import { problemOfScheme } from './scheme.ts';

export const OIDC_SETTINGS = {
  SV_OIDC_ISSUER: checked(
    optionalText({
      description:
        'the identity provider at which people sign in, exactly as its metadata write `issuer`. The three come together; ' +
        'without them people have passwords here',
    }),
    problemOfIssuer,
  ),
  SV_OIDC_CLIENT_ID: optionalText({ description: 'the client id that the provider gave this service' }),
  SV_OIDC_CLIENT_SECRET: optional(
    secretText({ description: 'the client secret that the provider gave this service' }),
  ),
  SV_OIDC_SIGN_UP: oneOf(['off', 'on'], {
    default: 'off',
    description: '`on` gives an unknown person with a verified address an account',
  }),
};

/**
 * @returns undefined where people sign in with accounts of this service
 * @throws SettingsError for a part of the settings without the rest
 */
export function oidcConfig(values: SettingValues<typeof OIDC_SETTINGS>) {
  const { SV_OIDC_ISSUER: issuer, SV_OIDC_CLIENT_ID: clientId, SV_OIDC_CLIENT_SECRET: clientSecret } = values;
  const signUp = values.SV_OIDC_SIGN_UP === 'on';
  if (issuer !== undefined && clientId !== undefined && clientSecret !== undefined)
    return { issuer, clientId, clientSecret, signUp };
  if (issuer === undefined && clientId === undefined && clientSecret === undefined && !signUp)
    return undefined;
  throw new SettingsError([
    'SV_OIDC_ISSUER, SV_OIDC_CLIENT_ID and SV_OIDC_CLIENT_SECRET come together, and SV_OIDC_SIGN_UP=on with them',
  ]);
}

/** Kept as written, since providers write their name with a slash at the end or without, and mean it. */
function problemOfIssuer(issuer: string | undefined): string | undefined {
  if (issuer === undefined) return undefined;
  if (!URL.canParse(issuer)) return 'is not an absolute URL';
  const url = new URL(issuer);
  if (url.username !== '' || url.password !== '' || /[?#]/.test(issuer))
    return 'must have no user info, no query and no fragment';
  return problemOfScheme(url);
}
