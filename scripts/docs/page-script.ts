import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '@svault/compose/free-port';
import { pairSettings, startPair } from '@svault/compose/pair';
import { tempDir } from '@svault/test-kit/temp-dir';
import { type CommandBlock, ROOT } from './command-blocks.ts';

/** What a person types where a command asks for a secret. */
const SECRET = 'a secret that somebody types';

const PREAMBLE = `set -euo pipefail
curl() { command curl --fail-with-body "$@"; }
ready() { until command curl -fsS -o /dev/null "$1" 2>/dev/null; do kill -0 "$!"; sleep 0.1; done; }
stop() { local running; running=$(jobs -p); [ -z "$running" ] || kill $running; wait; }
trap stop EXIT
svault-run() { local program=$1; shift; node "$program/src/main.ts" "$@"; }
umask 077
openssl genpkey -quiet -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out app.pem
jq -n --rawfile key app.pem '{ type: "service_account", client_email: "me@example.iam.gserviceaccount.com", private_key: $key }' > key.json
`;

/** Where the programs listen, by the port that pages show. */
type Ports = Readonly<Record<'8080' | '8090', number>>;

/**
 * Runs blocks of one page, one after another in one shell, as a reader does: in a folder that looks like a checkout,
 * signed in as the owner of a pair that runs, unless the page starts its own.
 *
 * @returns the exit code, and what was written with the line of each block before it
 */
export async function runPage(
  blocks: readonly CommandBlock[],
): Promise<{ readonly code: number | null; readonly output: string }> {
  const dir = tempDir();
  for (const name of readdirSync(ROOT))
    if (name !== '.svault' && name !== '.git') symlinkSync(join(ROOT, name), join(dir.path, name));
  const [controlPlane, webhook] = [await freePort(), await freePort()];
  const startsItself = blocks.some(({ text }) => SERVER.test(text));
  const place = { dir: join(dir.path, '.svault') };
  const pair = startsItself
    ? undefined
    : await startPair({ ...place, controlPlanePort: controlPlane, webhookPort: webhook });
  try {
    if (pair !== undefined)
      for (const name of ['control-plane.key', 'webhook.key'])
        symlinkSync(join(place.dir, name), join(dir.path, name));
    const env = {
      ...settingsOf(place, { controlPlane, webhook }, startsItself),
      PATH: `${join(ROOT, 'node_modules/.bin')}:${process.env['PATH']}`,
      HOME: dir.path,
      SVAULT_CONFIG_DIR: join(dir.path, 'config'),
      SVAULT_KEYCHAIN: 'off',
    };
    return await runScript(scriptOf(blocks, { '8080': controlPlane, '8090': webhook }), dir.path, env);
  } finally {
    await pair?.stop();
    dir.remove();
  }
}

function settingsOf(
  place: { readonly dir: string },
  ports: { readonly controlPlane: number; readonly webhook: number },
  startsItself: boolean,
): NodeJS.ProcessEnv {
  const listen = {
    SV_LISTEN: `127.0.0.1:${ports.controlPlane}`,
    SV_WEBHOOK_LISTEN: `127.0.0.1:${ports.webhook}`,
  };
  if (startsItself) return { ...listen, SV_LOG_LEVEL: 'warn' };
  const { urls, secrets, env } = pairSettings(place, ports);
  return {
    ...env,
    SVAULT_BASE_URL: urls['control-plane'],
    SVAULT_WEBHOOK_URL: urls.webhook,
    SVAULT_KEY: secrets.adminKey,
  };
}

/** The last line of a block that keeps a program running in its terminal. */
const SERVER = /^(?:npx node (?:control-plane|webhook)\/src\/main\.ts|python3 \S+\/webhook\.py serve)\n$/m;

function scriptOf(blocks: readonly CommandBlock[], ports: Ports): string {
  const parts = blocks.map(({ page, line, text }) => {
    const commands = text
      .replace(SERVER, (line) => {
        const url = line.includes('control-plane')
          ? 'http://127.0.0.1:8080/readyz'
          : 'http://127.0.0.1:8090/v1/health';
        return `${line.trimEnd()} &\nready ${url}\n`;
      })
      .replaceAll(/127\.0\.0\.1:(8080|8090)/g, (_, port: keyof Ports) => `127.0.0.1:${ports[port]}`)
      .replaceAll('npx node ', 'node ');
    return `echo '## ${page}:${line}'\n{\n${commands}} <<< '${SECRET}'\n`;
  });
  return PREAMBLE + parts.join('');
}

/** Runs a bash script to its end. @returns its exit code, and both of its outputs as they came */
export async function runScript(script: string, cwd: string, env: NodeJS.ProcessEnv) {
  const child = spawn('bash', ['-c', script], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => void (output += text));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output };
}
