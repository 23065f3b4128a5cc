import { lookup } from 'node:dns/promises';
import { readFileSync } from 'node:fs';
import { createAdminClient } from './admin-client.ts';
import { ensureBound } from './binding.ts';
import { pairSecrets } from './pair-secrets.ts';
import { runSubcommand } from './program-process.ts';
import { type PairPlace, startInstructions } from './start-instructions.ts';

/*
 * The two steps of the pair in containers that neither program does: `keys` makes what is missing of their secrets, before
 * they start, and `bind` binds them once both are healthy and says what to do next. Both may be repeated.
 */

/** Volumes of compose.yaml; each program sees its own alone. */
const KEYS = { controlPlane: '/keys/control-plane', webhook: '/keys/webhook' };

const PLACE: PairPlace = {
  files: 'the volumes of this compose project',
  showAdminKey: `docker compose exec -T control-plane cat ${KEYS.controlPlane}/admin.key`,
  svault: '../svault',
  stopping:
    'docker compose stop stops both, docker compose stop webhook the webhook alone: the kill switch. The next\ndocker compose up goes on with the same files.',
};

function setting(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === '') throw new Error(`${name} is not set: .env.example shows how`);
  return value;
}

async function reachedBy(hostAndPort: string): Promise<string> {
  const { hostname, port } = new URL(`http://${hostAndPort}`);
  const { address } = await lookup(hostname, { family: 4 });
  return `http://${address}:${port}`;
}

async function bindPair(): Promise<void> {
  const controlPlaneUrl = setting('SV_BASE_URL');
  const webhookUrl = setting('SV_WEBHOOK_URL');
  const adminKey = readFileSync(setting('SV_BOOTSTRAP_ADMIN_KEY_FILE'), 'utf8').trim();
  const inside = await reachedBy(setting('SVAULT_CONTROL_PLANE'));
  const options = { env: process.env, cwd: '/tmp' };
  await ensureBound(createAdminClient(inside, adminKey), webhookUrl, () =>
    runSubcommand('webhook', ['bind-link'], options),
  );
  const ownerLink =
    /https?:\S+/.exec(await runSubcommand('control-plane', ['owner-link'], options))?.[0] ?? '';
  process.stdout.write(startInstructions(PLACE, { controlPlaneUrl, webhookUrl, ownerLink }));
}

const [step] = process.argv.slice(2);
try {
  if (step === 'keys') pairSecrets(KEYS.controlPlane, KEYS.webhook);
  else if (step === 'bind') await bindPair();
  else {
    process.stderr.write('Usage: container-setup keys|bind\n');
    process.exitCode = 2;
  }
} catch (error) {
  process.stderr.write(`svault: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
