import { spawnSync } from 'node:child_process';
import { chownSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../../src/free-port.ts';
import { programEnv } from '@svault/test-kit/program-env';
import { tempDir } from '@svault/test-kit/temp-dir';
import { type AdminClient, createAdminClient } from '../../../src/admin-client.ts';
import { pairSecrets } from '../../../src/pair-secrets.ts';
import { startProgram } from '../../../src/program-process.ts';
import { composeOnPath } from '../engine/compose-on-path.ts';
import { ASKED_OFTEN } from '../engine/composed.ts';

/** Somebody who keeps the webhook alone, with the project that `svault webhook init` wrote, and a control plane elsewhere. */
export interface WebhookOwner {
  readonly serviceUrl: string;
  readonly webhookUrl: string;
  readonly admin: AdminClient;
  /** Of the project. */
  readonly folder: string;
  /** Who owns the secrets and runs the containers, even where root writes the project. */
  readonly uid: number;
  /** Runs lines of a shell in the project's folder. @returns what they wrote to stdout */
  run(lines: string): string;
  remove(): Promise<void>;
}

const SOME_USER = 1000;
/** Whom `init` gives the secrets to when root runs it. */
const FOR_ROOT = 10_001;

export async function startWebhookOwner(): Promise<WebhookOwner> {
  const dir = tempDir();
  const [port, webhookPort] = [await freePort(), await freePort()];
  const serviceUrl = `http://127.0.0.1:${port}`;
  const webhookUrl = `http://127.0.0.1:${webhookPort}`;
  const secrets = pairSecrets(join(dir.path, 'service'));
  const service = await startProgram('control-plane', serviceUrl, {
    cwd: join(dir.path, 'service'),
    env: programEnv({
      SV_BASE_URL: serviceUrl,
      SV_LISTEN: `127.0.0.1:${port}`,
      SV_DATABASE_URL: 'sqlite:control-plane.db',
      SV_MASTER_KEY_FILE: secrets.masterKeyFile,
      SV_BOOTSTRAP_ADMIN_KEY_FILE: secrets.adminKeyFile,
      SV_EGRESS_ALLOW: '127.0.0.0/8',
    }),
  });
  const [home, folder] = [join(dir.path, 'home'), join(dir.path, 'home/webhook')];
  const found = composeOnPath(dir.path);
  const user = asUser(found.DOCKER_HOST);
  mkdirSync(folder, { recursive: true });
  for (const each of [dir.path, home, folder]) chownSync(each, user.uid, user.uid);

  const run = (lines: string): string => {
    const [command, ...words] = [...user.by, 'sh', '-ec', lines];
    const { status, stdout, stderr } = spawnSync(command, words, {
      cwd: folder,
      encoding: 'utf8',
      env: programEnv({
        ...found,
        HOME: home,
        // The folder of compiled code belongs to who runs the tests.
        NODE_COMPILE_CACHE: undefined,
        SVAULT_BASE_URL: serviceUrl,
        SVAULT_KEY: secrets.adminKey,
      }),
    });
    if (status !== 0) throw new Error(`${lines} exited with ${status}: ${stderr}`);
    return stdout;
  };
  const remove = async (): Promise<void> => {
    try {
      run('[ ! -e compose.yaml ] || docker compose down --volumes --timeout 1');
    } finally {
      await service.stop();
      dir.remove();
    }
  };
  try {
    const set = [
      `SV_WEBHOOK_URL=${webhookUrl}`,
      `SV_WEBHOOK_SERVICE_URL=${serviceUrl}`,
      `SVAULT_WEBHOOK_PORT=${webhookPort}`,
    ];
    run(`svault webhook init --method custom ${set.map((each) => `--set ${each}`).join(' ')} .`);
    const override = `services: { webhook: { healthcheck: ${ASKED_OFTEN} } }\n`;
    writeFileSync(join(folder, 'compose.override.yaml'), override);
  } catch (error) {
    await remove();
    throw error;
  }
  return {
    serviceUrl,
    webhookUrl,
    admin: createAdminClient(serviceUrl, secrets.adminKey),
    folder,
    uid: user.uid === 0 ? FOR_ROOT : user.uid,
    run,
    remove,
  };
}

/** A user without root's rights, where who runs the tests may become one and that one may use the engine. */
function asUser(dockerHost = 'unix:///var/run/docker.sock'): {
  readonly uid: number;
  readonly by: readonly string[];
} {
  const own = process.getuid?.() ?? 0;
  if (own !== 0 || !dockerHost.startsWith('unix:')) return { uid: own, by: [] };
  const { gid } = statSync(dockerHost.replace('unix://', ''));
  const user = [`--reuid=${SOME_USER}`, `--regid=${SOME_USER}`, `--groups=${gid}`];
  const by = ['setpriv', ...user, '--inh-caps=-all'];
  const [command, ...words] = [...by, 'docker', 'version'];
  return spawnSync(command, words).status === 0 ? { uid: SOME_USER, by } : { uid: own, by: [] };
}
