import type { Secret } from '@svault/shared';
import {
  type SettingValues,
  SettingsError,
  checked,
  optional,
  optionalText,
  secretText,
} from '@svault/server-kit/settings';
import { EMAIL_FORM } from '../core/user.ts';

export const SMTP_SETTINGS = {
  SV_SMTP_URL: optional(
    checked(
      secretText({
        file: true,
        description:
          '`smtps://USER:PASSWORD@HOST:PORT`, or `smtp://` for STARTTLS, all but the host optional: the mail server of ' +
          'notifications. With a password, only by TLS. Both come together; without them there are none by e-mail',
      }),
      problemOfServer,
    ),
  ),
  SV_SMTP_FROM: checked(
    optionalText({ description: 'the address that notifications by e-mail are from' }),
    (from) => (from === undefined || EMAIL_FORM.test(from) ? undefined : 'must be an e-mail address'),
  ),
};

/**
 * @returns undefined where there is no mail server
 * @throws SettingsError for one of the settings without the other
 */
export function smtpConfig({ SV_SMTP_URL: url, SV_SMTP_FROM: from }: SettingValues<typeof SMTP_SETTINGS>) {
  if (url !== undefined && from !== undefined) return { url, from };
  if (url === undefined && from === undefined) return undefined;
  throw new SettingsError(['SV_SMTP_URL and SV_SMTP_FROM come together']);
}

/** Anything after the port would be options of the client. */
function problemOfServer(address: Secret): string | undefined {
  const url = URL.canParse(address.reveal()) ? new URL(address.reveal()) : undefined;
  const isSmtp = url?.protocol === 'smtp:' || url?.protocol === 'smtps:';
  const isWhole = isSmtp && url.hostname !== '' && url.pathname.length <= 1 && url.search + url.hash === '';
  if (isWhole && (url.username === '') === (url.password === '') && isDecodable(url)) return undefined;
  return 'must look like smtp://HOST:PORT or smtps://USER:PASSWORD@HOST:PORT';
}

function isDecodable({ username, password }: URL): boolean {
  try {
    return decodeURIComponent(username + password) !== undefined;
  } catch {
    return false;
  }
}
