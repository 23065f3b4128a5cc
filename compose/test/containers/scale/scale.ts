import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../../src/free-port.ts';
import { tempDir } from '@svault/test-kit/temp-dir';
import { generate } from 'selfsigned';
import { Network } from 'testcontainers';
import { type AdminClient, type Send, createAdminClient } from '../../../src/admin-client.ts';
import { bind, parseRegistrationLink } from '../../../src/binding.ts';
import { ASKED_OFTEN, type Composed, composeUp } from '../engine/composed.ts';
import { type Machine, until } from '../engine/machine.ts';
import { fetchFrom } from './hosts.ts';
import { type WebhookElsewhere, startWebhookElsewhere } from './webhook-elsewhere.ts';

export const SERVICE_HOST = 'svault.test';
const WEBHOOK_HOST = 'webhook.test';
export const CONTROL_PLANES = ['control-plane-1', 'control-plane-2', 'control-plane-3'] as const;
export type ControlPlaneName = (typeof CONTROL_PLANES)[number];

/**
 * compose/scale, three control planes over one PostgreSQL and Valkey behind Caddy, bound to a webhook that is somewhere else:
 * both are reached by TLS at names of a network that stands for the internet.
 */
export interface Scale extends Composed {
  readonly url: string;
  /** Reaches service and webhook as an agent does, through their proxies. */
  readonly send: Send;
  readonly adminKey: string;
  /** Through the proxy, to whichever control plane it chooses. */
  readonly admin: AdminClient;
  readonly elsewhere: WebhookElsewhere;
  /** Name of the network that stands for the internet. */
  readonly internet: string;
  /** A folder with cert.pem and key.pem, which hold for service and webhook. */
  readonly certificates: string;
  /** What the control planes have said. */
  logs(): Promise<string>;
  /** Where one of them is reached by itself, past the proxy. */
  direct(name: ControlPlaneName): Promise<string>;
  /** What `/readyz` of one control plane says, or that it says nothing. */
  readiness(name: ControlPlaneName): Promise<string>;
  /** Takes the control planes out of the internet: agents reach them still, but they reach no webhook. */
  cutOff(): Promise<void>;
  rejoin(): Promise<void>;
}

/**
 * @param options.env further settings of the control planes
 * @param options.webhookEnv further settings of the webhook
 */
export async function startScale(
  options: {
    readonly env?: Readonly<Record<string, string>>;
    readonly webhookEnv?: Readonly<Record<string, string>>;
  } = {},
): Promise<Scale> {
  const certificates = tempDir();
  const ca = await writeCertificate(certificates.path);
  const internet = await new Network().start();
  const parts: (() => Promise<void>)[] = [];
  const remove = async (): Promise<void> => {
    // One that cannot be removed keeps no other from it.
    const removals = await Promise.allSettled(parts.splice(0).map((removePart) => removePart()));
    certificates.remove();
    for (const removal of removals) if (removal.status === 'rejected') throw removal.reason;
    await internet.stop();
  };
  // What did start has to be known to `remove` also where something else fails.
  const kept = async <T extends { remove(): Promise<void> }>(starting: Promise<T>): Promise<T> => {
    const part = await starting;
    parts.push(() => part.remove());
    return part;
  };
  try {
    const [httpPort, servicePort, webhookPort] = [await freePort(), await freePort(), await freePort()];
    const url = `https://${SERVICE_HOST}`;
    const elsewhereStarts = startWebhookElsewhere({
      internet,
      host: WEBHOOK_HOST,
      port: webhookPort,
      serviceUrl: url,
      certificates: certificates.path,
      ...(options.webhookEnv !== undefined && { env: options.webhookEnv }),
    });
    const composedStarts = composeUp({
      folder: 'compose/scale',
      env: {
        SV_BASE_URL: url,
        SVAULT_UID: String(process.getuid?.() ?? 0),
        SVAULT_GID: String(process.getgid?.() ?? 0),
        SVAULT_HTTP_PORT: `127.0.0.1:${httpPort}`,
        SVAULT_HTTPS_PORT: `127.0.0.1:${servicePort}`,
        SV_EGRESS_ALLOW: WEBHOOK_HOST,
        SV_LOG_LEVEL: 'warn',
        ...options.env,
      },
      override: overrideWith({ internet: internet.getName(), certificates: certificates.path }),
      prepare: (folder) => {
        const made = spawnSync(join(folder, 'make-secrets.sh'), { encoding: 'utf8' });
        if (made.status !== 0) throw new Error(made.stderr);
      },
    });
    const starting = [kept(elsewhereStarts), kept(composedStarts)] as const;
    await Promise.allSettled(starting);
    const [elsewhere, composed] = await Promise.all(starting);
    const { send, close } = fetchFrom({ [SERVICE_HOST]: servicePort, [WEBHOOK_HOST]: webhookPort }, ca);
    parts.push(close);
    const adminKey = readFileSync(join(composed.folder, 'secrets/admin.key'), 'utf8');
    const admin = createAdminClient(url, adminKey, send);
    const direct: Scale['direct'] = async (name) =>
      `http://127.0.0.1:${await (await composed.service(name)).port(8080)}`;
    const readiness: Scale['readiness'] = async (name) => readinessAt(await direct(name).catch(() => ''));
    for (const name of CONTROL_PLANES)
      await until(`${name} to be ready`, async () => (await readiness(name)) === 'ok').catch(
        async (error: unknown) => {
          throw new Error(`it did not start: ${await logsOf(composed)}`, { cause: error });
        },
      );
    // Healthy is what the engine says; Caddy sees it for itself up to a second later, and sends nothing before.
    await until('a control plane behind the proxy', async () => (await send(`${url}/readyz`)).ok);
    const link = parseRegistrationLink(await elsewhere.subcommand('bind-link'));
    await bind(admin, link).catch(async (error: unknown) => {
      throw new Error(`the webhook was not bound: ${await logsOf(composed)}`, { cause: error });
    });
    const each = async (act: (one: Machine) => Promise<void>): Promise<void> => {
      for (const name of CONTROL_PLANES) await act(await composed.service(name));
    };
    return {
      ...composed,
      url,
      send,
      adminKey,
      admin,
      elsewhere,
      internet: internet.getName(),
      certificates: certificates.path,
      direct,
      readiness,
      cutOff: () => each((one) => one.leave(internet.getName())),
      rejoin: () => each((one) => one.join(internet.getName())),
      logs: () => logsOf(composed),
      remove,
    };
  } catch (error) {
    await remove();
    throw error;
  }
}

async function readinessAt(url: string): Promise<string> {
  try {
    const answer = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(5_000) });
    return ((await answer.json()) as { status?: string }).status ?? 'not ready';
  } catch {
    return 'no answer';
  }
}

/** What the control planes have said. */
const logsOf = async ({ service }: Composed): Promise<string> =>
  (await Promise.all(CONTROL_PLANES.map(async (name) => (await service(name)).logs()))).join('');

/**
 * What only the test needs: the internet, a certificate that all trust, a way to each control plane past the proxy, and that
 * nobody waits for those that they start after.
 */
function overrideWith(options: { readonly internet: string; readonly certificates: string }): string {
  const { internet, certificates } = options;
  const controlPlanes = CONTROL_PLANES.map(
    (name) => `  ${name}:
    environment: { NODE_EXTRA_CA_CERTS: /certs/cert.pem }
    volumes: ["${certificates}:/certs:ro"]
    networks: [front, data, internet]
    ports: ["127.0.0.1::8080"]
`,
  ).join('');
  return `services:
  proxy:
    volumes:
      - "${certificates}:/certs:ro"
      - "${certificates}/site:/etc/caddy/site:ro"
    networks: { front: {}, internet: { aliases: [${SERVICE_HOST}] } }
${controlPlanes}  # Killed it loses nothing, as the machine stays up; and it never waits seconds for a disk that a test machine is busy with.
  postgres: { healthcheck: ${ASKED_OFTEN}, command: [postgres, -c, fsync=off] }
  valkey: { healthcheck: ${ASKED_OFTEN} }
networks:
  internet:
    external: true
    name: ${internet}
`;
}

/** @returns PEM of the certificate, which stands for its own authority */
async function writeCertificate(folder: string): Promise<string> {
  const altNames = [SERVICE_HOST, WEBHOOK_HOST].map((value) => ({ type: 2 as const, value }));
  const { cert, private: key } = await generate([{ name: 'commonName', value: SERVICE_HOST }], {
    keyType: 'ec',
    extensions: [{ name: 'subjectAltName', altNames }],
  });
  mkdirSync(join(folder, 'site'));
  writeFileSync(join(folder, 'cert.pem'), cert);
  writeFileSync(join(folder, 'key.pem'), key);
  writeFileSync(join(folder, 'site', 'tls.caddy'), 'tls /certs/cert.pem /certs/key.pem\n');
  return cert;
}
