import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Invocation } from '../invocation.ts';

/** Where `npm start` keeps the files of a pair, below the folder in which it runs. */
const PAIR_FOLDER = '.svault';

/**
 * The line that lets the command line act as the owner of the pair that `npm start` made in the folder of a person's shell.
 * The address is of this machine whatever the files say.
 * @returns undefined where there is none
 */
export async function exportsOfPairHere({ env }: Pick<Invocation, 'env'>): Promise<string | undefined> {
  const { PWD: folder } = env;
  if (folder === undefined) return undefined;
  const dir = join(folder, PAIR_FOLDER);
  if (!existsSync(join(dir, 'admin.key'))) return undefined;
  const { keptPorts, startPorts } = await import('@svault/compose/start-addresses');
  const { ownerExports, pairInFolder } = await import('@svault/compose/start-instructions');
  try {
    const { controlPlane, webhook } = startPorts({}, keptPorts(dir));
    return ownerExports(pairInFolder(PAIR_FOLDER), {
      controlPlaneUrl: `http://127.0.0.1:${controlPlane}`,
      webhookUrl: `http://127.0.0.1:${webhook}`,
    });
  } catch {
    // Its ports are unreadable or none: nothing can be said of it.
    return undefined;
  }
}
