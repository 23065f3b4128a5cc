import { SealedRefused, createSealingKey, openSealed } from '@svault/shared/sealed';
import { AdminRefused, storeCredential } from './admin-client.ts';
import { demoAgent } from './demo-agent.ts';
import { demoCredentials } from './demo-credentials.ts';
import { type Narrator, expectEqual } from './demo-narrator.ts';
import type { DemoOutside } from './demo-outside.ts';
import { demoProxySteps } from './demo-proxy-steps.ts';
import type { Pair } from './pair.ts';
import type { ProgramName } from './program-process.ts';

const HOUR_SECONDS = 3600;
const DAY_SECONDS = 24 * HOUR_SECONDS;

interface AuditPage {
  readonly items: readonly {
    readonly timestamp: string;
    readonly eventType: string;
    readonly outcome: string;
    readonly serviceName?: string;
    readonly detail?: { readonly code?: string };
  }[];
}

/** The pair as the demo needs it, wherever its programs run. */
export interface DemoPair extends Pick<Pair, 'admin' | 'controlPlaneUrl' | 'run'> {
  readonly process: (program: ProgramName) => { stop(): Promise<unknown> };
}

/** The main job from the first credential to the kill switch, one step each, over HTTP as anybody would. */
export async function demoSteps(pair: DemoPair, outside: DemoOutside, step: Narrator['step']): Promise<void> {
  const { admin } = pair;
  const holder = createSealingKey();
  const { first, others, sealed } = await demoCredentials(holder.publicJwk, outside);
  const plain = [first, ...others];
  const agent = demoAgent(pair, { name: 'demo' });
  const grant = (serviceName: string, expiresInSeconds: number): Promise<unknown> =>
    admin.call('POST', `/api/agents/${agent.id()}/grants`, { serviceName, expiresInSeconds });

  await step('Store one credential of every type, each straight at the webhook', async () => {
    for (const { serviceName, body } of plain) await storeCredential(admin, serviceName, body);
    return plain.map(({ serviceName, kind }) => `${serviceName} (${kind})`).join(', ');
  });

  await step('Store one that is sealed: for the holder of one key alone', async () => {
    await storeCredential(admin, sealed.serviceName, sealed.body);
    return `${sealed.serviceName}, for key ${holder.thumbprint}`;
  });

  await step('Make an agent', async () => `${await agent.make()}, with a key that is shown once`);

  await step('Ask for a credential without a grant', () => agent.refused(first.serviceName, 404, 'NO_GRANT'));

  await step('Grant it for too short and for too long', async () => {
    await expectRefused(grant(first.serviceName, HOUR_SECONDS - 1));
    await expectRefused(grant(first.serviceName, 30 * DAY_SECONDS + 1));
    return '422 INVALID_ARGUMENT for 59:59 minutes and for a second over 30 days';
  });

  await step('Grant the agent all of them, for an hour', async () => {
    for (const { serviceName } of [...plain, sealed]) await grant(serviceName, HOUR_SECONDS);
    const count = await agent.countGrants();
    expectEqual('the number of grants', count, plain.length + 1);
    return `list mode shows ${count} grants and no credential`;
  });

  await step('Fetch each by REST, following the 307 to the webhook', async () => {
    for (const { serviceName, isRight } of plain)
      expectEqual(
        `whether the credential for ${serviceName} is right`,
        isRight(await agent.fetch(serviceName)),
        true,
      );
    return `${plain.length} credentials delivered, each as it was stored, refreshed or made on demand`;
  });

  await step('Fetch the first by MCP: the tool gives an address that works once', async () => {
    const { serviceName, delivered } = first;
    expectEqual('the credential', await agent.fetchByTool(serviceName), delivered);
    return `${serviceName} delivered; the tool's result held no credential`;
  });

  await step('Fetch the sealed one', async () => {
    const without = await agent.refused(sealed.serviceName, 403, 'DELIVERY_NOT_ALLOWED');
    await admin.call('PATCH', `/api/agents/${agent.id()}`, { sealingKeyThumbprint: holder.thumbprint });
    const jwe = await (await agent.ask(sealed.serviceName)).text();
    const { token } = (await openSealed(jwe, holder)).reveal();
    expectEqual('what the holder opened', token.accessToken, sealed.delivered);
    const byAnother = openSealed(jwe, createSealingKey()).then(
      () => 'opened',
      (error: unknown) => (error instanceof SealedRefused ? error.reason : error),
    );
    expectEqual('what another key gets', await byAnother, 'other_key');
    return `${without} for an agent without the key's thumbprint\nwith it ${jwe.length} encrypted characters, opened by the holder's key and by no other`;
  });

  await demoProxySteps(pair, step, { outside, credential: first, agentId: agent.id() });

  await step('Use one ticket twice', async () => {
    const location = (await agent.ask(first.serviceName, 'manual')).headers.get('location') ?? '';
    const statuses = [(await fetch(location)).status, (await fetch(location)).status];
    expectEqual('the answers', statuses.join(), '200,401');
    return 'the first use is answered 200, the second 401';
  });

  await step('Attach a policy that allows two an hour, then disable it', async () => {
    const rules = [{ type: 'rate_limit', limit: 2, windowSeconds: HOUR_SECONDS }];
    const { id } = await admin.call<{ id: string }>('POST', '/api/policies', { name: 'two an hour', rules });
    const target = { targetType: 'agent', targetId: agent.id() };
    await admin.call('POST', `/api/policies/${id}/attachments`, target);
    for (const expected of [200, 200])
      expectEqual('the status within it', (await agent.ask(first.serviceName)).status, expected);
    const past = await agent.refused(first.serviceName, 429, 'POLICY_DENIED');
    await admin.call('PATCH', `/api/policies/${id}`, { enabled: false });
    expectEqual('the status without it', (await agent.ask(first.serviceName)).status, 200);
    return `200, 200, then ${past}; 200 once it is disabled`;
  });

  await step('Suspend the agent, then resume it', async () => {
    await admin.call('POST', `/api/agents/${agent.id()}/suspend`);
    const suspended = await agent.refused(first.serviceName, 403, 'AGENT_INACTIVE');
    await admin.call('POST', `/api/agents/${agent.id()}/resume`);
    expectEqual('the status after', (await agent.ask(first.serviceName)).status, 200);
    return `${suspended} while it is suspended, 200 after`;
  });

  await step('Revoke one grant', async () => {
    const { serviceName = '' } = plain.at(-1) ?? {};
    await admin.call('DELETE', `/api/agents/${agent.id()}/grants/${serviceName}`);
    return `${serviceName}: ${await agent.refused(serviceName, 404, 'NO_GRANT')}, the others stay`;
  });

  await step('Lock the vault, then unlock it', async () => {
    await admin.call('POST', '/api/vault/lock');
    const locked = await agent.refused(first.serviceName, 423, 'VAULT_LOCKED');
    await admin.call('POST', '/api/vault/unlock');
    return `${locked} while it is locked`;
  });

  await step('Read what was written down', async () => {
    const { items } = await admin.call<AuditPage>('GET', '/api/audit?limit=8');
    return items.map(auditLine).join('\n');
  });

  await step('Check both logs, each a separate chain of hashes', async () => {
    const controlPlane = await pair.run('control-plane', 'audit', 'verify');
    const webhook = await pair.run('webhook', 'audit', 'verify');
    return `control plane  ${shortHash(controlPlane)}
webhook        ${shortHash(webhook)}`;
  });

  await step('Take the webhook offline: the kill switch', async () => {
    await pair.process('webhook').stop();
    const away = await agent.ask(first.serviceName).then(
      ({ status }) => String(status),
      () => 'connection refused',
    );
    if (away === '200') throw new Error('a credential was delivered without a webhook');
    return `nothing is delivered (${away})`;
  });
}

function auditLine(entry: AuditPage['items'][number]): string {
  const { timestamp, eventType, outcome, serviceName, detail } = entry;
  const what = [serviceName, detail?.code].filter((part) => part !== undefined).join(' ');
  return `${timestamp.slice(11, 19)}  ${eventType.padEnd(26)}${outcome.padEnd(9)}${what}`.trimEnd();
}

const shortHash = (line: string): string =>
  line.trim().replace(/[0-9a-f]{64}/, (hash) => `${hash.slice(0, 16)}…`);

async function expectRefused(call: Promise<unknown>): Promise<void> {
  const code = await call.then(
    () => 'none',
    (error: unknown) => {
      if (error instanceof AdminRefused) return error.code;
      throw error;
    },
  );
  expectEqual('the refusal', code, 'INVALID_ARGUMENT');
}
