import { createAdminClient } from '../../../src/admin-client.ts';
import { until } from '../engine/machine.ts';
import type { World } from './world.ts';
import { CONTROL_PLANES, type ControlPlaneName } from '../scale/scale.ts';

/** Status of a request, or 0 where there is no answer. */
async function statusOf(url: string, init: RequestInit = {}): Promise<number> {
  try {
    const response = await fetch(url, { redirect: 'manual', ...init, signal: AbortSignal.timeout(5_000) });
    await response.body?.cancel();
    return response.status;
  } catch {
    return 0;
  }
}

/** Status of a call to the upstream through one control plane. */
export async function proxyStatus(world: World, name: ControlPlaneName): Promise<number> {
  const url = await world.scale.direct(name).catch(() => '');
  return statusOf(`${url}/api/proxy/mcp`, {
    method: 'POST',
    headers: { 'x-mcp-key': world.probe.key, 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 'probe', method: 'tools/list', params: {} }),
  });
}

/** Waits until all of it works again by itself: each control plane, both proxies, the webhook and the upstream behind it. */
export async function allWorksAgain(world: World): Promise<void> {
  for (const name of CONTROL_PLANES) {
    await until(`${name} to be ready`, async () => (await world.scale.readiness(name)) === 'ok');
    await until(`calls through ${name}`, async () => (await proxyStatus(world, name)) === 200);
  }
  const { admin } = world.scale;
  await until('the control plane at its address', () =>
    admin.call<{ reachable?: boolean }>('GET', '/api/webhook').then(
      ({ reachable }) => reachable !== false,
      () => false,
    ),
  );
}

/** Each control plane calls the webhook: its answer ends an outage at once, without the next probe. */
export async function lookAtWebhook({ scale }: World): Promise<void> {
  for (const name of CONTROL_PLANES) {
    const admin = createAdminClient(await scale.direct(name), scale.adminKey);
    await until(`${name} to reach the webhook`, async () => {
      const { reachable } = await admin.call<{ reachable?: boolean }>('GET', '/api/webhook');
      return reachable === true;
    });
  }
}
