import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newKey, randomToken } from '@svault/shared';

/** Paths of the secrets that one pair needs; made at the first start, kept for the next ones. */
export interface PairSecrets {
  readonly masterKeyFile: string;
  readonly webhookMasterKeyFile: string;
  readonly setupTokenFile: string;
  readonly adminKeyFile: string;
  readonly adminKey: string;
}

const KEY_BYTES = 32;

/** Each secret is a file of mode 0600 in a folder of mode 0700, as the programs' `…_FILE` settings read it. */
export function pairSecrets(dir: string): PairSecrets {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const keep = (name: string, make: () => string): string => {
    const path = join(dir, name);
    try {
      writeFileSync(path, `${make()}\n`, { mode: 0o600, flag: 'wx' });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    return path;
  };
  const adminKeyFile = keep('admin.key', () => newKey('svadmin'));
  return {
    masterKeyFile: keep('control-plane.key', () => randomToken(KEY_BYTES)),
    webhookMasterKeyFile: keep('webhook.key', () => randomToken(KEY_BYTES)),
    setupTokenFile: keep('webhook-setup.token', () => randomToken(KEY_BYTES)),
    adminKeyFile,
    adminKey: readFileSync(adminKeyFile, 'utf8').trimEnd(),
  };
}
