import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { storeCredential } from './admin-client.ts';
import { demoCredentials } from './demo-credentials.ts';
import { createNarrator, expectEqual } from './demo-narrator.ts';
import { type Pair, startPair } from './pair.ts';

/**
 * `npm run demo`: the whole main job on real input, in a temporary folder and on free ports. Exit code 0 only
 * if every step did what it should.
 */
interface Envelope {
  readonly token: { readonly accessToken: string; readonly tokenType: string };
}

const { step } = createNarrator(process.stdout);
const dir = mkdtempSync(join(tmpdir(), 'svault-demo-'));
let pair: Pair | undefined;
try {
  const started = startPair({ dir, env: { SV_LOG_LEVEL: 'warn' } });
  await step('Start the control plane and the webhook, and bind them', async () => {
    const { controlPlaneUrl, webhookUrl } = await started;
    return `control plane ${controlPlaneUrl}, webhook ${webhookUrl}`;
  });
  pair = await started;
  await demonstrate(pair);
  process.stdout.write('\nEvery step did what it should.\n');
} catch {
  process.exitCode = 1;
} finally {
  await pair?.stop();
  rmSync(dir, { recursive: true, force: true });
}

async function demonstrate({ controlPlaneUrl, admin, process: processOf }: Pair): Promise<void> {
  const credentials = await demoCredentials();
  let agentId = '';
  let agentKey = '';
  const ask = (path: string, redirect: 'follow' | 'manual' = 'follow'): Promise<Response> =>
    fetch(controlPlaneUrl + path, { headers: { authorization: `Bearer ${agentKey}` }, redirect });
  const pathOf = (serviceName: string): string => `/api/agents/credentials?service=${serviceName}`;

  await step('Store one credential of every type, each straight at the webhook', async () => {
    for (const { serviceName, body } of credentials) await storeCredential(admin, serviceName, body);
    return credentials.map(({ serviceName, body }) => `${serviceName} (${body.tokenType})`).join(', ');
  });

  await step('Make an agent', async () => {
    const made = await admin.call<{ agent: { id: string }; apiKey: string }>('POST', '/api/agents', {
      name: 'demo',
    });
    agentId = made.agent.id;
    agentKey = made.apiKey;
    return `${agentId}, with a key that is shown once`;
  });

  await step('Ask for a credential without a grant', async () => {
    const answer = await ask(pathOf('github'));
    expectEqual('the status', answer.status, 404);
    return `404 ${((await answer.json()) as { code: string }).code}`;
  });

  await step('Grant the agent all of them, for an hour', async () => {
    for (const { serviceName } of credentials)
      await admin.call('POST', `/api/agents/${agentId}/grants`, { serviceName, expiresInSeconds: 3600 });
    const { grants } = (await (await ask('/api/agents/credentials')).json()) as { grants: unknown[] };
    expectEqual('the number of grants', grants.length, credentials.length);
    return `list mode shows ${grants.length} grants and no credential`;
  });

  await step('Fetch each by REST, following the 307 to the webhook', async () => {
    for (const { serviceName, delivered } of credentials) {
      const { token } = (await (await ask(pathOf(serviceName))).json()) as Envelope;
      expectEqual(`the credential for ${serviceName}`, token.accessToken, delivered);
    }
    return `${credentials.length} credentials delivered, each what was stored`;
  });

  await step('Use one ticket twice', async () => {
    const location = (await ask(pathOf('github'), 'manual')).headers.get('location') ?? '';
    const statuses = [(await fetch(location)).status, (await fetch(location)).status];
    expectEqual('the answers', statuses.join(), '200,401');
    return 'the first use is answered 200, the second 401';
  });

  await step('Suspend the agent, then resume it', async () => {
    await admin.call('POST', `/api/agents/${agentId}/suspend`);
    expectEqual('the status while suspended', (await ask(pathOf('github'))).status, 403);
    await admin.call('POST', `/api/agents/${agentId}/resume`);
    expectEqual('the status after', (await ask(pathOf('github'))).status, 200);
    return '403 AGENT_INACTIVE while it is suspended, 200 after';
  });

  await step('Lock the vault, then unlock it', async () => {
    await admin.call('POST', '/api/vault/lock');
    expectEqual('the status while locked', (await ask(pathOf('github'))).status, 423);
    await admin.call('POST', '/api/vault/unlock');
    return '423 VAULT_LOCKED while it is locked';
  });

  await step('Take the webhook offline: the kill switch', async () => {
    await processOf('webhook').stop();
    const fetched = await ask(pathOf('github')).then(
      (answer) => answer.status,
      () => 'connection refused',
    );
    if (fetched === 200) throw new Error('a credential was delivered without a webhook');
    return `nothing is delivered (${fetched})`;
  });
}
