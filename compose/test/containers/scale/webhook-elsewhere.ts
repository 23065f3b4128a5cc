import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { randomToken } from '@svault/shared';
import { GenericContainer, Network, type StartedNetwork, Wait } from 'testcontainers';
import { type Machine, machine } from '../engine/machine.ts';
import { IMAGES } from '../engine/images.ts';

const CADDY_IMAGE = 'caddy:2';

/** A webhook of its own elsewhere: behind a proxy that ends TLS, in a network that nobody else is in. */
export interface WebhookElsewhere {
  readonly url: string;
  readonly webhook: Machine;
  readonly proxy: Machine;
  /** The network between the two; upstreams of the owner join it. */
  readonly network: StartedNetwork;
  /** Another subcommand of the webhook, beside `serve`. */
  subcommand(...words: string[]): Promise<string>;
  remove(): Promise<void>;
}

/**
 * @param options.internet where service and webhook reach each other
 * @param options.host of the webhook there
 * @param options.port of this machine that leads to it
 * @param options.certificates a folder with cert.pem and key.pem
 */
export async function startWebhookElsewhere(options: {
  readonly internet: StartedNetwork;
  readonly host: string;
  readonly port: number;
  readonly serviceUrl: string;
  readonly certificates: string;
  readonly env?: Readonly<Record<string, string>>;
}): Promise<WebhookElsewhere> {
  const { internet, host, port, serviceUrl, certificates, env = {} } = options;
  const network = await new Network().start();
  const url = `https://${host}`;
  const webhook = await new GenericContainer(IMAGES.webhook)
    .withNetwork(network)
    .withNetworkAliases('webhook')
    .withEnvironment({
      SV_WEBHOOK_URL: url,
      SV_WEBHOOK_SERVICE_URL: serviceUrl,
      SV_WEBHOOK_MASTER_KEY: randomToken(32),
      SV_WEBHOOK_SETUP_TOKEN: randomToken(32),
      SV_LOG_LEVEL: 'warn',
      ...env,
    })
    .withTmpFs({ '/tmp': 'rw,noexec,mode=1777' })
    .withWaitStrategy(Wait.forHealthCheck())
    .start();
  const caddyfile = join(certificates, `Caddyfile.${host}`);
  mkdirSync(certificates, { recursive: true });
  writeFileSync(
    caddyfile,
    `{\n\tadmin off\n}\n${url} {\n\ttls /certs/cert.pem /certs/key.pem\n\treverse_proxy webhook:8090 {\n\t\tflush_interval -1\n\t}\n}\n`,
  );
  const proxy = await new GenericContainer(CADDY_IMAGE)
    .withNetwork(network)
    .withExposedPorts({ container: 443, host: port })
    .withBindMounts([
      { source: certificates, target: '/certs', mode: 'ro' },
      { source: caddyfile, target: '/etc/caddy/Caddyfile', mode: 'ro' },
    ])
    .withWaitStrategy(Wait.forListeningPorts())
    .start();
  const proxyMachine = await machine(proxy.getId());
  await proxyMachine.join(internet.getName(), [host]);
  const webhookMachine = await machine(webhook.getId());
  for (const one of [proxyMachine, webhookMachine]) await one.comeBack();
  return {
    url,
    webhook: webhookMachine,
    proxy: proxyMachine,
    network,
    subcommand: async (...words) => {
      const { exitCode, output } = await webhookMachine.run('node', '/svault/webhook/src/main.ts', ...words);
      if (exitCode !== 0) throw new Error(`webhook ${words.join(' ')} exited with ${exitCode}: ${output}`);
      return output;
    },
    remove: async () => {
      await proxy.stop({ timeout: 0 });
      await webhook.stop({ timeout: 0 });
      await network.stop();
    },
  };
}
