import { DOCKERFILE } from '@svault/compose/webhook-project/compose-file';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** Whether the webhook's image can be built from a folder. */
export const isCheckout = (folder: string): boolean => existsSync(join(folder, DOCKERFILE));

/** The checkout that this client runs from; undefined for the npm package and the single file, which bring no sources. */
export function ownSources(): string | undefined {
  // Undefined in a bundle, which is no module.
  const here: string | undefined = import.meta.dirname;
  if (here === undefined) return undefined;
  const checkout = resolve(here, '../../..');
  return isCheckout(checkout) ? checkout : undefined;
}
