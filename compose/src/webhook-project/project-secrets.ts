import { randomToken } from '@svault/shared';
import type { SecretFile } from './project-file.ts';
import type { TunnelMethod } from './tunnel-methods.ts';
import { TUNNELS } from './tunnels/tunnels.ts';

/** 32 bytes in base64url: a root key, and twice the minimum of a set-up token. */
const SECRET_BYTES = 32;

/** Paths of those that a project makes for itself. */
export const MADE_SECRETS = ['secrets/master.key', 'secrets/setup.token'];

/** With new values. */
export const madeSecrets = (): readonly SecretFile[] =>
  MADE_SECRETS.map((path) => ({ path, secret: `${randomToken(SECRET_BYTES)}\n` }));

/** Where all of them are. */
export function secretPaths(method: TunnelMethod): readonly string[] {
  const { secret } = TUNNELS[method];
  return secret === undefined ? MADE_SECRETS : [...MADE_SECRETS, secret.path];
}

/** Folders that only their owner may enter; none of them belongs in a repository. */
export const privateFolders = (method: TunnelMethod): readonly string[] => [
  'secrets',
  'backups',
  ...(TUNNELS[method].folders ?? []),
];
