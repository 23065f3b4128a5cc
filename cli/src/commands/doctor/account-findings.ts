import * as z from 'zod';
import type { ApiClient } from '../../api/api-client.ts';
import { Failure } from '../../failure.ts';
import { safeAddress } from '../../http/service-address.ts';
import type { Invocation } from '../../invocation.ts';
import { plainLine } from '../../output/plain-line.ts';
import { type WebhookView, webhookSchema } from '../../webhook-direct/webhook-view.ts';
import { compareVersions } from '../webhook/support-window.ts';
import { type Finding, ok, problem, skipped, warning } from './finding.ts';
import { reachFindings } from './reach.ts';

const meSchema = z.looseObject({ email: z.string(), role: z.string() });
const overviewSchema = z.looseObject({
  vault: z.looseObject({ locked: z.boolean() }),
  webhook: z.looseObject({ bound: z.boolean(), logBehindSince: z.string().nullable().optional() }),
});
const lockoutsSchema = z.looseObject({
  items: z.array(z.looseObject({ name: z.string().nullable(), callerId: z.string() })),
});
const grantsSchema = z.looseObject({ grants: z.array(z.unknown()) });

/** What the control plane says of the account, the webhook and the limits. */
export async function accountFindings(
  invocation: Invocation,
  client: ApiClient,
): Promise<readonly Finding[]> {
  if (client.login.context.kind === 'agent')
    return [
      await asked('login', async () => {
        const { grants } = await client.read('/api/agents/credentials', grantsSchema);
        return ok('login', `an agent with ${grants.length} grants`);
      }),
      skipped('webhook', 'only admins may know it; svault get SERVICE --check tries it'),
    ];
  const login = await asked('login', async () => {
    const { email, role } = await client.read('/api/me', meSchema);
    return ok('login', `${email}, ${role}`);
  });
  if (login.state === 'problem') return [login];
  return [
    login,
    ...(await overviewFindings(client)),
    ...(await webhookFindings(invocation, client)),
    await asked('limits', async () => {
      const { items } = await client.read('/api/limits/lockouts', lockoutsSchema);
      if (items.length === 0) return ok('limits', 'nobody is locked out');
      const names = items.slice(0, 5).map(({ name, callerId }) => plainLine(name ?? callerId));
      return warning(
        'limits',
        `locked out: ${names.join(', ')}`,
        'svault limits says for how long; svault audit, why',
      );
    }),
  ];
}

async function overviewFindings(client: ApiClient): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  const vault = await asked('vault', async () => {
    const {
      vault: { locked },
      webhook,
    } = await client.read('/api/overview', overviewSchema);
    const since = webhook.logBehindSince;
    if (typeof since === 'string')
      findings.push(
        warning(
          'log',
          `the webhook has not taken events since ${plainLine(since)}`,
          'svault webhook status says whether it answers; its disk may be full',
        ),
      );
    return locked
      ? warning('vault', 'it is locked: no credential is delivered', 'svault vault unlock')
      : ok('vault', 'unlocked');
  });
  return [vault, ...findings];
}

async function webhookFindings(invocation: Invocation, client: ApiClient): Promise<readonly Finding[]> {
  const reached: Finding[] = [];
  const versions: Finding[] = [];
  const binding = await asked('binding', async () => {
    const webhook = await client.read('/api/webhook', webhookSchema);
    const { bound, url, reachable, problem: wrong, rotationPending, setAside } = webhook;
    versions.push(versionsFinding(webhook));
    if (!bound)
      return problem(
        'binding',
        'no webhook is bound',
        'svault webhook bind binds one that runs; svault webhook init makes one',
      );
    const address = url === undefined ? undefined : safeAddress(`${url}/v1/health`);
    const readyUrl = url === undefined ? undefined : safeAddress(`${url}/readyz`);
    if (address !== undefined)
      reached.push(
        ...(await reachFindings(invocation, {
          ...{ called: 'webhook', url: address, well: ['ok'] },
          ...(readyUrl !== undefined && { readyUrl }),
        })),
      );
    if (reachable !== true)
      return problem(
        'binding',
        'the webhook does not answer the signed calls of the control plane',
        wrong === undefined ? 'its log says whether calls arrive' : plainLine(wrong),
      );
    if (wrong !== undefined)
      return problem('binding', 'the webhook answers, and rejects every ticket', plainLine(wrong));
    if (setAside !== undefined)
      return warning(
        'binding',
        `background work leaves the webhook alone until ${plainLine(setAside.until)}: ${plainLine(setAside.reason)}`,
        'its log says why; scheduled refreshes wait',
      );
    return rotationPending === true
      ? warning('binding', 'a new key is being agreed upon', 'svault webhook rotate-secret ends it')
      : ok('binding', 'the webhook answers calls that are signed with the shared key');
  });
  return [binding, ...versions, ...reached];
}

function versionsFinding(webhook: WebhookView): Finding {
  const { found, toUpgrade } = compareVersions(webhook);
  return toUpgrade.length === 0
    ? ok('versions', found)
    : warning('versions', `${found}: too far apart`, `upgrade ${toUpgrade.join(', then ')}`);
}

/** A check whose refusal is a finding itself. */
async function asked(check: string, ask: () => Promise<Finding>): Promise<Finding> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof Failure) || error.exit === 'interrupted') throw error;
    if (error.code === 'FORBIDDEN') return skipped(check, 'only admins may know it');
    const code = error.code === undefined ? '' : ` (${error.code})`;
    const remedy =
      error.code === undefined
        ? 'svault doctor --debug shows each request'
        : `svault explain ${error.code}${error.exit === 'denied' ? '; svault login signs in again' : ''}`;
    return problem(check, `${error.message}${code}`, remedy);
  }
}
