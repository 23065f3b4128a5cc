import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { randomToken } from '@svault/shared';
import { Network, type StartedNetwork } from 'testcontainers';
import type { Machine } from '../engine/machine.ts';
import { IMAGES } from '../engine/images.ts';
import { type OneContainer, type Running, runContainer } from '../engine/one-container.ts';

const CADDY_IMAGE = 'caddy:2';

/** A webhook of its own elsewhere: behind a proxy that terminates TLS, in a network that nobody else is in. */
export interface WebhookElsewhere {
  readonly url: string;
  readonly webhook: Machine;
  readonly proxy: Machine;
  /** Name of the network between the two; upstreams of its owner join it. */
  readonly network: string;
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
  const undo: (() => Promise<unknown>)[] = [() => network.stop()];
  const remove = async (): Promise<void> => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  const start = async (container: OneContainer): Promise<Running> => {
    const running = await runContainer({ ...container, comesBack: true });
    undo.push(() => running.remove());
    return running;
  };
  try {
    const webhook = await start({
      image: IMAGES.webhook,
      network: { name: network.getName(), alias: 'webhook' },
      env: {
        SV_WEBHOOK_URL: url,
        SV_WEBHOOK_SERVICE_URL: serviceUrl,
        SV_WEBHOOK_MASTER_KEY: randomToken(32),
        SV_WEBHOOK_SETUP_TOKEN: randomToken(32),
        SV_LOG_LEVEL: 'warn',
        ...env,
      },
      healthIntervalMs: 1_000,
    });
    const caddyfile = join(certificates, `Caddyfile.${host}`);
    writeFileSync(
      caddyfile,
      `{\n\tadmin off\n}\n${url} {\n\ttls /certs/cert.pem /certs/key.pem\n\treverse_proxy webhook:8090 {\n\t\tflush_interval -1\n\t}\n}\n`,
    );
    const proxy = await start({
      image: CADDY_IMAGE,
      network: { name: network.getName(), alias: 'proxy' },
      ports: { 443: port },
      binds: [`${certificates}:/certs:ro`, `${caddyfile}:/etc/caddy/Caddyfile:ro`],
      writable: true,
      // Its files may be those of a user who runs the tests and is not root.
      capabilities: ['NET_BIND_SERVICE', 'DAC_OVERRIDE'],
    });
    await proxy.join(internet.getName(), [host]);
    await webhook.healthy();
    return {
      url,
      webhook,
      proxy,
      network: network.getName(),
      subcommand: async (...words) => {
        const { exitCode, output } = await webhook.run('node', '/svault/webhook/dist/main.js', ...words);
        if (exitCode !== 0) throw new Error(`webhook ${words.join(' ')} exited with ${exitCode}: ${output}`);
        return output;
      },
      remove,
    };
  } catch (error) {
    await remove();
    throw error;
  }
}
