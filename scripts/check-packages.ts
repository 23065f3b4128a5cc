/**
 * `node scripts/check-packages.ts`: packs every published package, reads each tarball with publint, and uses them
 * the way a stranger would: in an empty project, every export imported, every type resolved, every command started.
 * Third-party dependencies are linked from the workspace, so that this needs no network.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { installPackages } from './packing/consumer.ts';
import { pack, PUBLISHED, readManifest, readPublishedManifest } from './packing/pack.ts';

const work = mkdtempSync(join(tmpdir(), 'svault-packages-'));
try {
  const packages = PUBLISHED.map((folder) => ({
    tarball: pack(folder, work),
    manifest: readManifest(folder),
    installed: readPublishedManifest(folder),
  }));
  for (const { tarball } of packages) await lintPackage(tarball);
  const project = join(work, 'project');
  mkdirSync(project);
  const consumer = installPackages(project, packages);
  consumer.importEverything();
  consumer.resolveTypes();
  consumer.startCommands();
  console.log(
    `packages: ${packages.map(({ manifest }) => `${manifest.name} ${manifest.version}`).join(', ')}`,
  );
} finally {
  rmSync(work, { recursive: true, force: true });
}

/** Reads a tarball with publint, suggestions included. @throws Error that lists what it found */
async function lintPackage(tarball: string): Promise<void> {
  const bytes = readFileSync(tarball);
  const archive = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
  const { messages, pkg } = await publint({ pack: { tarball: archive }, strict: true });
  const said = messages.map((message) => formatMessage(message, pkg) ?? message.code);
  if (said.length > 0) throw new Error(`publint on ${tarball}:\n${said.join('\n')}`);
}
