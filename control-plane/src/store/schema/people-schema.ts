import type { Generated } from 'kysely';
import type { Id } from '@svault/shared';
import type { TimeText } from './management-schema.ts';

interface PasswordRow {
  user_id: Id<'usr'>;
  /** A PHC string; never the password. */
  password_hash: string;
  changed_at: TimeText;
}

interface IdentityRow {
  issuer: string;
  subject: string;
  user_id: Id<'usr'>;
  created_at: TimeText;
}

interface CliLoginRow {
  id: Id<'clr'>;
  code_challenge: string;
  redirect_uri: string | null;
  user_code: string;
  client: string;
  address: string | null;
  /** Of the request until it is approved, of the code after that. */
  expires_at: TimeText;
  vault_id: Id<'vlt'> | null;
  user_id: Id<'usr'> | null;
  code_hash: string | null;
  address_group: Generated<string>;
  bytes: Generated<number>;
  asked_at: TimeText | null;
}

interface CliSessionRow {
  session_id: Id<'ses'>;
  refresh_hash: string;
  /** Null once it has ended. */
  access_hash: string | null;
  access_expires_at: TimeText;
  former_refresh_hash: string | null;
  former_access_hash: string | null;
  former_access_expires_at: TimeText | null;
  rotated_at: TimeText | null;
  rotation_seed_wrapped: string | null;
}

export interface PeopleSchema {
  passwords: PasswordRow;
  identities: IdentityRow;
  cli_logins: CliLoginRow;
  cli_sessions: CliSessionRow;
}
