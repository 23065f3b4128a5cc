import { readFileSync } from 'node:fs';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';

/**
 * Reads a tarball with publint, suggestions included.
 * @throws Error that lists what it found
 */
export async function lintPackage(tarball: string): Promise<void> {
  const bytes = readFileSync(tarball);
  const archive = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
  const { messages, pkg } = await publint({ pack: { tarball: archive }, strict: true });
  const said = messages.map((message) => formatMessage(message, pkg) ?? message.code);
  if (said.length > 0) throw new Error(`publint on ${tarball}:\n${said.join('\n')}`);
}
