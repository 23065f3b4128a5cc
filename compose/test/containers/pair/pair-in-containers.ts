import { freePort } from '../../../src/free-port.ts';
import { type AdminClient, createAdminClient } from '../../../src/admin-client.ts';
import { ASKED_OFTEN, type Composed, composeUp } from '../engine/composed.ts';
import { until } from '../engine/machine.ts';

/** The pair of compose/compose.yaml. */
export interface PairInContainers extends Composed {
  readonly controlPlaneUrl: string;
  readonly webhookUrl: string;
  readonly adminKey: string;
  readonly admin: AdminClient;
  /** What `bind` said when it had bound them. */
  readonly instructions: string;
}

/** Nobody waits for those that others start after. */
const SERVICES = `services:
  control-plane: { healthcheck: ${ASKED_OFTEN} }
  webhook: { healthcheck: ${ASKED_OFTEN} }
`;

/**
 * Starts it on free ports of this machine and waits until it says that it is bound.
 *
 * @param services further ones beside it, as in a compose file
 */
export async function startPairInContainers(
  env: Readonly<Record<string, string>> = {},
  services = '',
): Promise<PairInContainers> {
  const [port, webhookPort] = [await freePort(), await freePort()];
  const controlPlaneUrl = `http://127.0.0.1:${port}`;
  const webhookUrl = `http://127.0.0.1:${webhookPort}`;
  const composed = await composeUp({
    folder: 'compose',
    env: {
      SVAULT_PORT: String(port),
      SV_BASE_URL: controlPlaneUrl,
      SV_WEBHOOK_SERVICE_URL: controlPlaneUrl,
      SVAULT_WEBHOOK_PORT: String(webhookPort),
      SV_WEBHOOK_URL: webhookUrl,
      SV_CONNECT_TO: `127.0.0.1:${webhookPort}=webhook:8090`,
      ...env,
    },
    override: SERVICES + services.replace(/^\n/, ''),
  });
  try {
    const bind = await composed.service('bind');
    await until('the end of bind', async () => (await bind.inspect()).State.Status === 'exited');
    const controlPlane = await composed.service('control-plane');
    const { output } = await controlPlane.run('cat', '/keys/control-plane/admin.key');
    const adminKey = output.trim();
    return {
      ...composed,
      controlPlaneUrl,
      webhookUrl,
      adminKey,
      admin: createAdminClient(controlPlaneUrl, adminKey),
      instructions: await bind.logs(),
    };
  } catch (error) {
    await composed.remove();
    throw error;
  }
}
