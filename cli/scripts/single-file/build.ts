import { chmodSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundleSingleFile } from '../bundle.ts';
import { licenseIn, noticesOf } from '../../../scripts/packing/notices.ts';
import { signAdHoc } from './ad-hoc-signature.ts';
import { fetchKeyring, fetchNode } from './fetched-package.ts';
import { inject } from './inject.ts';
import { preparerOf, TARGETS, type TargetName } from './targets.ts';

/** As the script in the executable asks for it. */
const KEYRING_ASSET = 'keyring.node';

/**
 * Builds the single file of a platform, and the file of the licenses of its parts.
 * @param into folder for `svault-PLATFORM-ARCH` and `svault-PLATFORM-ARCH.licenses.txt`; made where it is missing
 * @returns the executable's path
 */
export async function buildSingleFile(name: TargetName, into: string): Promise<string> {
  const target = TARGETS[name];
  mkdirSync(into, { recursive: true });
  const work = mkdtempSync(join(into, '.building-'));
  try {
    const script = join(work, 'svault.cjs');
    const executable = join(work, 'svault');
    const bundled = noticesOf(await bundleSingleFile(script));
    const node = fetchNode(target.node);
    const keyring = fetchKeyring(target);
    const preparer = fetchNode(preparerOf(target));
    const assets = { [KEYRING_ASSET]: keyring.file };
    inject({ script, assets, preparer: preparer.file, node: node.file }, work, executable);
    if (target.platform === 'darwin')
      writeFileSync(executable, signAdHoc(readFileSync(executable), 'svault'));
    chmodSync(executable, 0o755);
    const built = join(into, `svault-${name}`);
    const notices = [bundled, licenseIn(node.folder), licenseIn(keyring.folder)];
    writeFileSync(`${built}.licenses.txt`, notices.join(`\n${'-'.repeat(78)}\n\n`));
    renameSync(executable, built);
    return built;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
