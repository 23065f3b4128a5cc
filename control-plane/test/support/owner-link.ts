import type { Clock } from '@svault/shared';
import { makeOwnerLink } from '../../src/commands/control-plane.ts';
import { controlPlaneConfig } from '../../src/config/config.ts';

/** A fresh token that signs the owner in. @param env the place's settings; they name the owner */
export async function ownerLinkToken(
  env: Readonly<Record<string, string>>,
  clock: Clock,
): Promise<string | null> {
  return new URL(await makeOwnerLink(controlPlaneConfig(env), clock)).searchParams.get('token');
}
