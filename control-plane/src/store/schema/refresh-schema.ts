import type { Id } from '@svault/shared';
import type { AssertionAlgorithm, ClientAuthMethod } from '../../core/provider.ts';
import type { TimeText } from './management-schema.ts';

interface ProviderRow {
  id: Id<'prv'>;
  vault_id: Id<'vlt'>;
  name: string;
  token_url: string;
  client_id: string;
  /** SHA-256 of both, in hex, because they may be longer than an index takes. */
  target_hash: string;
  auth_method: ClientAuthMethod;
  algorithm: AssertionAlgorithm | null;
  key_id: string | null;
  /** base64url of the client secret or private key under the data encryption key. */
  secret_wrapped: string;
  created_at: TimeText;
  updated_at: TimeText;
}

interface RefreshAttemptRow {
  vault_id: Id<'vlt'>;
  service_name: string;
  version: number;
  failures: number;
  next_at: TimeText;
}

/** Tables of the mediated refresh and of the scheduler. */
export interface RefreshSchema {
  providers: ProviderRow;
  refresh_attempts: RefreshAttemptRow;
}
