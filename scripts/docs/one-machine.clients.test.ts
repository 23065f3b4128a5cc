import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '@svault/compose/free-port';
import { buildPrograms } from '@svault/compose/program-process';
import { tempDir } from '@svault/test-kit/temp-dir';
import { afterAll, beforeAll, expect, test } from 'vitest';
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
const dir = tempDir();
let machine: MachineInFolder;
let front: ReturnType<typeof tlsFront>;

beforeAll(async () => {
  // As npm ci does.
  await buildPrograms();
  machine = {
    path: dir.path,
    ports: { 8080: await freePort(), 8090: await freePort(), 443: await freePort() },
  };
  const [caddyfile = ''] = blocksOf(ONE_MACHINE, '');
  front = tlsFront(onMachine(caddyfile, machine), makeIdentity(dir.path));
  front.server.listen(machine.ports['443'], '127.0.0.1');
  await once(front.server, 'listening');
});

afterAll(() => {
  front.server.closeAllConnections();
  front.server.close();
  dir.remove();
});

/** A certificate authority in `authority.pem`, and what it vouches for. */
function makeIdentity(folder: string) {
  execFileSync('bash', ['-euc', AUTHORITY], { cwd: folder, stdio: 'ignore' });
  const [key, cert] = ['front.key', 'front.pem'].map((name) => readFileSync(join(folder, name), 'utf8'));
  return { key: key ?? '', cert: cert ?? '' };
}

const AUTHORITY = `
new() { openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes "$@"; }
new -x509 -keyout authority.key -out authority.pem -days 2 -subj /CN=authority
new -keyout front.key -out front.csr -subj /CN=front
printf 'subjectAltName=DNS:localhost,DNS:vault.example.org' > names
openssl x509 -req -in front.csr -CA authority.pem -CAkey authority.key -CAcreateserial -days 2 -extfile names -out front.pem
`;

/** What an owner does by `svault`, which would look up the webhook's name: by the API, with curl. */
const STORE = `
api() { curl -sS --fail-with-body -H "Authorization: Bearer $SVAULT_KEY" -H 'content-type: application/json' "$SVAULT_BASE_URL$1" "\${@:2}"; }
api /api/tokens -d '{"serviceName":"github","tokenType":"JWT"}' | jq .store > "$here/store.json"
vault -sS --fail-with-body -H "Authorization: Bearer $(jq -r .ticket "$here/store.json")" -H 'content-type: application/json' \\
  -d '{"tokenType":"JWT","accessToken":"the secret"}' "$(jq -r .url "$here/store.json")"
./svault agents create --name ci --grants github > "$here/agent.key"
`;
const FETCH = `
url=$(curl -sS --fail-with-body -H "Authorization: Bearer $(cat "$here/agent.key")" "$SVAULT_BASE_URL/api/agents/credentials?service=github&redirect=false" | jq -r .url)
echo "fetched: $(vault -sS --fail-with-body "$url")"
`;

/** What readers put in the place of words in capitals. */
const FILLED_IN: Readonly<Record<string, string>> = {
  NEW: '0.2.0',
  OLD: '0.1.0',
  'FILE.backup': '"$(ls "$here"/var/backups/svault/webhook/*.backup | tail -1)"',
};

/** The blocks that begin so, in this order. */
const beginning = (blocks: readonly string[], ...texts: readonly string[]): readonly string[] =>
  texts.map((text) => {
    const [block, ...others] = blocks.filter((candidate) => candidate.startsWith(text));
    if (block === undefined || others.length > 0) throw new Error(`not one block begins with ${text}`);
    return block;
  });

/** The settings of the page, and two checkouts; the ports and a stop without waiting are all that is added. */
function writeSettings(): void {
  const [controlPlane = '', webhook = '', authority = ''] = blocksOf(ONE_MACHINE, 'ini');
  const files = {
    'control-plane.env': `${controlPlane}${authority}SV_LISTEN=127.0.0.1:8080\nSV_DRAIN_SECONDS=0\n`,
    'webhook.env': `${webhook}SV_WEBHOOK_LISTEN=127.0.0.1:8090\nSV_DRAIN_SECONDS=0\n`,
  };
  for (const [name, text] of Object.entries(files))
    writeFileSync(join(dir.path, name), onMachine(text, machine));
  writeFileSync(join(dir.path, 'svault-run'), svaultRunOn(machine), { mode: 0o755 });
  for (const folder of ['etc/systemd/system', 'opt/svault', 'usr/local/sbin', 'var/lib'])
    mkdirSync(join(dir.path, folder), { recursive: true });
  for (const version of ['0.1.0', '0.2.0']) symlinkSync(ROOT, join(dir.path, 'opt/svault', version));
}

/** Some thirty starts of a program, one after another. */
const HANG_MS = 600_000;

test(
  'the pages of one machine, from the install over bind, backup, rotation, upgrade and rollback to a restore, work as they are written',
  async () => {
    const install = blocksOf(ONE_MACHINE, 'sh');
    const upgrades = blocksOf('docs/operate/upgrades.md', 'sh');
    const keys = blocksOf('docs/operate/key-rotation.md', 'sh');
    const backups = blocksOf('docs/operate/backup-and-restore.md', 'sh');
    writeSettings();
    const commands = [
      ...beginning(install, 'cd /opt/svault/0.1.0', 'for each in control-plane webhook; do\n  useradd'),
      'install -m 0640 "$here"/control-plane.env "/etc/svault/control-plane/env"',
      'install -m 0640 "$here"/webhook.env "/etc/svault/webhook/env"',
      'install -m 0644 "$here"/authority.pem "/etc/svault/"',
      ...beginning(install, 'for each in control-plane webhook; do\n  chown', 'cp -r'),
      ...beginning(install, 'systemctl enable --now svault-webhook', 'export SVAULT_BASE_URL'),
      'test -s /etc/systemd/system/svault-.service.d/sandbox.conf',
      STORE,
      FETCH,
      ...beginning(install, 'systemctl enable --now svault-backup'),
      ...beginning(keys, 'cd /etc/svault/control-plane', 'cd /etc/svault/webhook'),
      ...beginning(keys, 'cd /etc/svault/control-plane', 'cd /etc/svault/webhook'),
      'test $(cat "/etc/svault/webhook"/{root,former-*}.key | sort -u | wc -l) = 3',
      'systemctl restart svault-control-plane svault-webhook',
      'cd "/opt/svault/current"',
      FETCH,
      ...beginning(keys, './svault webhook unbind'),
      FETCH,
      ...beginning(backups, 'now='),
      ...beginning(upgrades, 'cd /opt/svault/NEW', 'ln -sfn OLD'),
      'cd "/opt/svault/current"',
      FETCH,
      ...beginning(backups, 'systemctl stop svault-webhook'),
      'svault-run webhook audit verify',
    ].map((command) => onMachine(command, machine));
    const vault = `vault() { curl --connect-to vault.example.org:443:127.0.0.1:${machine.ports['443']} "$@"; }\n`;
    const filledIn = commands
      .map((text) => `echo '##'\n${text}\n`)
      .join('')
      .replaceAll(/\b(NEW|OLD|FILE\.backup)\b/g, (name) => FILLED_IN[name] ?? name);
    const { code, output } = await runScript(preambleOf(machine) + vault + filledIn, dir.path, {
      PATH: `${join(dir.path, 'usr/local/sbin')}:${join(ROOT, 'node_modules/.bin')}:${process.env['PATH']}`,
      HOME: dir.path,
      SVAULT_CONFIG_DIR: join(dir.path, 'config'),
      SVAULT_KEYCHAIN: 'off',
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      NODE_EXTRA_CA_CERTS: join(dir.path, 'authority.pem'),
      CURL_CA_BUNDLE: join(dir.path, 'authority.pem'),
    });
    expect({ code, output }).toEqual({ code: 0, output: expect.stringMatching(/answers +yes/) });
    expect(output.match(/fetched: .*the secret/g)).toHaveLength(4);
    expect(output).toMatch(/Restored the backup of [\s\S]*the log is whole: \d+ entries in 2 epoch\(s\)/);
  },
  HANG_MS,
);
