import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '@svault/compose/free-port';
import { buildPrograms } from '@svault/compose/program-process';
import { tempDir } from '@svault/test-kit/temp-dir';
import { ROOT } from './command-blocks.ts';
import {
  type MachineInFolder,
  blocksOf,
  onMachine,
  preambleOf,
  svaultRunOn,
  tlsFront,
} from './machine-in-folder.ts';
import { runScript } from './page-script.ts';

const ONE_MACHINE = 'docs/deploy/one-machine.md';

/** A certificate authority in `authority.pem`, and `certify DAYS`, which has it vouch for the TLS front. */
const AUTHORITY = `cd "$here"
new() { openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes "$@"; }
new -x509 -keyout authority.key -out authority.pem -days 2 -subj /CN=authority
new -keyout front.key -out front.csr -subj /CN=front
printf 'subjectAltName=DNS:localhost,DNS:vault.example.org' > names
`;
const CERTIFY = `certify() {
  (cd "$here"; openssl x509 -req -in front.csr -CA authority.pem -CAkey authority.key -CAcreateserial -days "$1" -extfile names -out front.pem 2> /dev/null)
}
`;

/** What an owner does by `svault`, which would look up the webhook's name: by the API, with curl. */
const STORE = `
api() { curl -sS --fail-with-body -H "Authorization: Bearer $SVAULT_KEY" -H 'content-type: application/json' "$SVAULT_BASE_URL$1" "\${@:2}"; }
api /api/tokens -d '{"serviceName":"github","tokenType":"JWT"}' | jq .store > "$here/store.json"
vault -sS --fail-with-body -H "Authorization: Bearer $(jq -r .ticket "$here/store.json")" -H 'content-type: application/json' \\
  -d '{"tokenType":"JWT","accessToken":"the secret"}' "$(jq -r .url "$here/store.json")"
./svault agents create --name ci --grants github > "$here/agent.key"
`;
export const FETCH = `
url=$(curl -sS --fail-with-body -H "Authorization: Bearer $(cat "$here/agent.key")" "$SVAULT_BASE_URL/api/agents/credentials?service=github&redirect=false" | jq -r .url)
echo "fetched: $(vault -sS --fail-with-body "$url")"
`;

/** The blocks that begin so, in this order. */
export const beginning = (blocks: readonly string[], ...texts: readonly string[]): readonly string[] =>
  texts.map((text) => {
    const [block, ...others] = blocks.filter((candidate) => candidate.startsWith(text));
    if (block === undefined || others.length > 0) throw new Error(`not one block begins with ${text}`);
    return block;
  });

const INSTALL = blocksOf(ONE_MACHINE, 'sh');

/** The page of one machine, up to a webhook that is bound and an agent with a grant. */
export const INSTALLATION: readonly string[] = [
  ...beginning(INSTALL, 'cd /opt/svault/0.1.0', 'for each in control-plane webhook; do\n  (umask'),
  'install -m 0640 "$here"/control-plane.env "/etc/svault/control-plane/env"',
  'install -m 0640 "$here"/webhook.env "/etc/svault/webhook/env"',
  'install -m 0644 "$here"/authority.pem "/etc/svault/"',
  ...beginning(INSTALL, 'for each in control-plane webhook; do\n  chown'),
  ...beginning(INSTALL, 'systemctl enable --now svault-webhook', 'export SVAULT_BASE_URL'),
  'test -s /etc/systemd/system/svault-.service.d/sandbox.conf',
  STORE,
  FETCH,
  ...beginning(INSTALL, 'systemctl enable --now svault-backup'),
];

/** The machine of the pages in a folder, with both programs, a TLS front for their names, and a shell. */
export interface InstalledMachine {
  readonly path: string;
  /** Runs commands as the pages have them, one after another, in a new shell that has both services to start. */
  run(commands: readonly string[]): ReturnType<typeof runScript>;
  remove(): void;
}

/**
 * Prepares a machine: settings of the page, two checkouts, certificates. Nothing is installed yet.
 *
 * @param filledIn what readers put in the place of words in capitals
 */
export async function prepareMachine(filledIn: Readonly<Record<string, string>>): Promise<InstalledMachine> {
  // As npm ci does.
  await buildPrograms();
  const dir = tempDir();
  const { path } = dir;
  const machine: MachineInFolder = {
    path,
    ports: { 8080: await freePort(), 8090: await freePort(), 443: await freePort() },
  };
  const shell = (script: string) =>
    execFileSync('bash', ['-euc', `here=${path}\n${script}`], { stdio: 'ignore' });
  shell(AUTHORITY + CERTIFY + 'certify 2');
  const [caddyfile = ''] = blocksOf(ONE_MACHINE, '');
  const front = tlsFront(onMachine(caddyfile, machine), path);
  front.server.listen(machine.ports['443'], '127.0.0.1');
  await once(front.server, 'listening');
  writeSettings(machine);
  const vault = `vault() { curl --connect-to vault.example.org:443:127.0.0.1:${machine.ports['443']} "$@"; }\n`;
  return {
    path,
    run: (commands) => {
      const script = commands
        .map((command) => `echo '##'\n${onMachine(command, machine)}\n`)
        .join('')
        .replaceAll(
          new RegExp(`\\b(${Object.keys(filledIn).join('|')})\\b`, 'g'),
          (name) => filledIn[name] ?? name,
        );
      return runScript(preambleOf(machine) + CERTIFY + vault + script, path, {
        PATH: `${join(path, 'usr/local/sbin')}:${join(ROOT, 'node_modules/.bin')}:${process.env['PATH']}`,
        HOME: path,
        SVAULT_CONFIG_DIR: join(path, 'config'),
        SVAULT_KEYCHAIN: 'off',
        NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
        NODE_EXTRA_CA_CERTS: join(path, 'authority.pem'),
        CURL_CA_BUNDLE: join(path, 'authority.pem'),
      });
    },
    remove: () => {
      front.server.closeAllConnections();
      front.server.close();
      dir.remove();
    },
  };
}

/** The settings of the page, and two checkouts; the ports and a stop without waiting are all that is added. */
function writeSettings(machine: MachineInFolder): void {
  const { path } = machine;
  const [controlPlane = '', webhook = '', authority = ''] = blocksOf(ONE_MACHINE, 'ini');
  const files = {
    'control-plane.env': `${controlPlane}${authority}SV_LISTEN=127.0.0.1:8080\nSV_DRAIN_SECONDS=0\n`,
    'webhook.env': `${webhook}SV_WEBHOOK_LISTEN=127.0.0.1:8090\nSV_DRAIN_SECONDS=0\n`,
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(path, name), onMachine(text, machine));
  writeFileSync(join(path, 'svault-run'), svaultRunOn(machine), { mode: 0o755 });
  for (const folder of ['etc/systemd/system', 'opt/svault', 'usr/local/sbin', 'var/lib', 'var/backups'])
    mkdirSync(join(path, folder), { recursive: true });
  for (const version of ['0.1.0', '0.2.0']) symlinkSync(ROOT, join(path, 'opt/svault', version));
}
