import type { Subcommand } from '@svault/server-kit/program';
import { onStop } from '@svault/server-kit/shutdown';
import { controlPlaneConfig } from '../config/config.ts';
import { startControlPlane } from '../serve.ts';

export const serve: Subcommand = {
  summary: 'run the service',
  operands: 0,
  run: async (_operands, { env, out, err }) => {
    const config = controlPlaneConfig(env);
    const starting = startControlPlane(config);
    // Before it is up: as the first process of a container it would not hear of a stop otherwise.
    onStop(async () => (await starting).close(), { drainSeconds: config.drainSeconds, err });
    const running = await starting;
    // Printed, not logged: the log masks it, as it masks every key.
    if (running.ownerLink !== undefined)
      out(`Sign in as the owner, once and within 30 minutes: ${running.ownerLink}\n`);
  },
};
