import { linkSync, mkdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
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

/**
 * Each secret is a file of mode 0600 in a folder of mode 0700, as the programs' `…_FILE` settings read it.
 * @param webhookDir where those of the webhook are, if the control plane must not find them in its own folder
 */
export function pairSecrets(dir: string, webhookDir = dir): PairSecrets {
  for (const each of [dir, webhookDir]) mkdirSync(each, { recursive: true, mode: 0o700 });
  const keep = (folder: string, name: string, make: () => string): string => {
    const path = join(folder, name);
    const whole = join(folder, `.${randomToken(8)}.tmp`);
    writeFileSync(whole, `${make()}\n`, { mode: 0o600, flag: 'wx', flush: true });
    try {
      // It is there with all it holds or not at all, and the one that was there first stays.
      linkSync(whole, path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    } finally {
      unlinkSync(whole);
    }
    return path;
  };
  const adminKeyFile = keep(dir, 'admin.key', () => newKey('svadmin'));
  return {
    masterKeyFile: keep(dir, 'control-plane.key', () => randomToken(KEY_BYTES)),
    webhookMasterKeyFile: keep(webhookDir, 'webhook.key', () => randomToken(KEY_BYTES)),
    setupTokenFile: keep(webhookDir, 'webhook-setup.token', () => randomToken(KEY_BYTES)),
    adminKeyFile,
    adminKey: readFileSync(adminKeyFile, 'utf8').trimEnd(),
  };
}
