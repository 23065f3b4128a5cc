import type { Generated } from 'kysely';
import type { Id } from '@svault/shared';
import type { TimeText } from './management-schema.ts';

interface OauthClientRow {
  id: Id<'ocl'>;
  name: string;
  client_uri: string | null;
  /** JSON: a list of texts. */
  redirect_uris: string;
  created_at: TimeText;
  last_used_at: TimeText;
  address_group: Generated<string>;
  bytes: Generated<number>;
  asked_at: TimeText | null;
}

interface OauthCodeRow {
  code_hash: string;
  vault_id: Id<'vlt'>;
  user_id: Id<'usr'>;
  agent_id: Id<'agt'>;
  /** A registered client's id, or the URL of its metadata document. */
  client_id: string;
  client_name: string;
  redirect_uri: string;
  code_challenge: string;
  audience: string;
  expires_at: TimeText;
}

interface OauthSessionRow {
  session_id: Id<'ses'>;
  agent_id: Id<'agt'>;
  client_id: string;
  audience: string;
  code_hash: string | null;
  /** Null where the session cannot be refreshed. */
  refresh_hash: string | null;
  former_refresh_hash: string | null;
  rotated_at: TimeText | null;
  rotation_seed_wrapped: string | null;
}

interface OauthAccessTokenRow {
  token_hash: string;
  session_id: Id<'ses'>;
  issued_at: TimeText;
  expires_at: TimeText;
}

export interface OauthSchema {
  oauth_clients: OauthClientRow;
  oauth_codes: OauthCodeRow;
  oauth_sessions: OauthSessionRow;
  oauth_access_tokens: OauthAccessTokenRow;
}
