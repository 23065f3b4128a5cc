/** Plays what the runbook is for on a machine in a folder, and follows the commands of its pages. */
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type InstalledMachine,
  FETCH,
  INSTALLATION,
  beginning,
  prepareMachine,
} from './installed-machine.ts';
import { blocksOf } from './machine-in-folder.ts';

const RUNBOOK = blocksOf('docs/operate/runbook.md', 'sh');
const KEYS = blocksOf('docs/operate/key-rotation.md', 'sh');
const BACKUPS = blocksOf('docs/operate/backup-and-restore.md', 'sh');

/** As a new shell on the machine, with both services. */
const RUNNING = [
  'certify 2',
  'systemctl start svault-webhook svault-control-plane',
  ...beginning(blocksOf('docs/deploy/one-machine.md', 'sh'), 'export SVAULT_BASE_URL').map(
    (block) => block.split('\n')[0] ?? '',
  ),
  'cd /opt/svault/current',
];

/** Asks as the agent does, and prints the answer whatever it is. */
const ASK = `
curl -sS -o "$here/answer.json" -H "Authorization: Bearer $(cat "$here/agent.key")" "$SVAULT_BASE_URL/api/agents/credentials?service=github&redirect=false" || echo '{}' > "$here/answer.json"
url=$(jq -r .url "$here/answer.json")
if [ "$url" = null ]; then echo "denied: $(cat "$here/answer.json")"; else echo "answered: $(vault -sS "$url" 2>&1)"; fi
`;

/** Fetches as soon as it works: the control plane looks for a webhook that was away every second. */
const FETCH_AGAIN = `until fetched=$( ${FETCH} ) && grep 'the secret' <<< "$fetched"; do sleep 0.2; done`;

let machine: InstalledMachine;
beforeAll(async () => {
  machine = await prepareMachine({
    'FILE.backup': '"$(ls "$here"/var/backups/svault/webhook/*.backup | tail -1)"',
  });
  const { code, output } = await machine.run(INSTALLATION);
  expect(code, output).toBe(0);
  expect(output).toContain('fetched: ');
});
afterAll(() => machine?.remove());

/** Plays commands on the running machine. @returns what they printed */
async function play(commands: readonly string[]): Promise<string> {
  const { code, output } = await machine.run([...RUNNING, ...commands]);
  expect(code, output).toBe(0);
  return output;
}

test('a webhook that is stopped delivers nothing, and delivers again when it is started', async () => {
  const output = await play([
    'systemctl stop svault-webhook',
    ASK,
    './svault webhook status || true',
    'systemctl start svault-webhook',
    FETCH_AGAIN,
  ]);
  expect(output).toMatch(/WEBHOOK_UNAVAILABLE|answered: (?!.*the secret)[\s\S]*fetched: .*the secret/);
});

test('an agent’s key that has leaked ends when it is rotated, and the new one works', async () => {
  const output = await play([
    'cp "$here/agent.key" "$here/leaked.key"',
    './svault agents rotate-key ci --yes > "$here/agent.key"',
    'mv "$here/agent.key" "$here/new.key" && cp "$here/leaked.key" "$here/agent.key"',
    ASK,
    'mv "$here/new.key" "$here/agent.key"',
    FETCH,
  ]);
  expect(output).toMatch(/denied: .*"INVALID_KEY"[\s\S]*fetched: .*the secret/);
});

test('an admin key that has leaked is unknown once the file is replaced, and the new one works', async () => {
  const output = await play([
    'former=$SVAULT_KEY',
    ...beginning(RUNBOOK, '(umask 077; echo "svadmin_'),
    'curl -s -o /dev/null -w "former: %{http_code}\n" -H "Authorization: Bearer $former" "$SVAULT_BASE_URL/api/me"',
    FETCH,
  ]);
  expect(output).toMatch(/former: 401[\s\S]*fetched: .*the secret/);
});

test('an owner who cannot sign in otherwise is signed in by a one-time link from the machine', async () => {
  const open = (at: string): string =>
    `curl -sS -o /dev/null -c "$here/cookies" -b "$here/cookies" -w "${at}: %{http_code}\n" -H 'sec-fetch-site: none' "$link"`;
  const output = await play([
    `link=$(${beginning(RUNBOOK, 'svault-run control-plane owner-link').join('').trim()})`,
    'echo "link: $link"',
    open('opened'),
  ]);
  expect(output).toMatch(/link: https:\/\/localhost:\d+\/login\/link\S+[\s\S]*opened: (200|303)/);
});

test('a webhook whose clock is behind rejects tickets with not_yet_valid, and accepts them once NTP has set it', async () => {
  const output = await play([
    'systemctl stop svault-webhook',
    'cp /etc/svault/webhook/env "$here/env.before"',
    'echo "-600" > "$here/clock"',
    `printf '%s\n' "LD_PRELOAD=$(ls /usr/lib/*/faketime/libfaketimeMT.so.1)" "FAKETIME_TIMESTAMP_FILE=$here/clock" FAKETIME_CACHE_DURATION=1 FAKETIME_DONT_FAKE_MONOTONIC=1 >> /etc/svault/webhook/env`,
    ': > "$here/svault-webhook.log"',
    'systemctl start svault-webhook',
    `until asked=$( ${ASK} ) && ! grep -q WEBHOOK_UNAVAILABLE <<< "$asked"; do sleep 0.2; done; echo "$asked"`,
    'grep -o \'"reason":"[a-z_]*"\' "$here/svault-webhook.log" | sort -u',
    './svault doctor || true',
    // NTP's part.
    'timedatectl() { [ "$*" != "set-ntp true" ] || echo "+0" > "$here/clock"; }',
    ...beginning(RUNBOOK, 'timedatectl set-ntp true'),
    FETCH_AGAIN,
    'cp "$here/env.before" /etc/svault/webhook/env',
  ]);
  expect(output).toMatch(/TICKET_INVALID[\s\S]*"reason":"not_yet_valid"[\s\S]*fetched: .*the secret/);
});

test('a certificate that has expired stops deliveries, and a new one is used without a restart', async () => {
  const output = await play([
    'certify 0',
    ASK,
    'journalctl() { echo "certificate: the renewal failed"; }',
    ...beginning(RUNBOOK, 'for name in svault.example.org'),
    'certify 2',
    FETCH_AGAIN,
  ]);
  expect(output).toMatch(/expired[\s\S]*notAfter=[\s\S]*fetched: .*the secret/);
});

test('a control plane whose disk is full denies with AUDIT_UNAVAILABLE, and goes on when there is room', async () => {
  const data = join(machine.path, 'var/lib/svault-control-plane/data');
  const kept = join(machine.path, 'data-before');
  mkdirSync(kept);
  execFileSync('cp', ['-a', `${data}/.`, kept]);
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=24m,mode=0700', 'svault-runbook', data]);
  try {
    execFileSync('cp', ['-a', `${kept}/.`, data]);
    const output = await play([
      FETCH,
      'dd if=/dev/zero of=/var/lib/svault-control-plane/data/filler bs=64k 2> /dev/null || true',
      `for turn in $(seq 2000); do ${ASK} grep -q AUDIT_UNAVAILABLE "$here/answer.json" && break; done > "$here/asked"; tail -1 "$here/asked"`,
      'rm /var/lib/svault-control-plane/data/filler',
      FETCH_AGAIN,
      'svault-run control-plane audit verify',
    ]);
    expect(output).toMatch(/denied: .*AUDIT_UNAVAILABLE[\s\S]*fetched: .*the secret[\s\S]*intact/);
  } finally {
    execFileSync('umount', ['-l', data]);
  }
});

test('a webhook that is lost is restored from its backup, under a new root key and a new binding', async () => {
  const output = await play([
    './svault webhook unbind --yes',
    'systemctl stop svault-webhook',
    'rm -rf /var/lib/svault-webhook/data',
    ...beginning(BACKUPS, 'systemctl stop svault-webhook').map((block) => block.replace(/^mv .*\n/m, '')),
    ...beginning(KEYS, 'cd /etc/svault/webhook'),
    'systemctl restart svault-webhook',
    'cd /opt/svault/current',
    // The page says to wait for 30 seconds.
    ...beginning(KEYS, './svault webhook unbind').map(
      (block) => `until ( ${block.split('\n').slice(1).join('\n')} ); do sleep 1; done`,
    ),
    FETCH_AGAIN,
  ]);
  expect(output).toMatch(/Restored the backup of [\s\S]*fetched: .*the secret/);
});

test('an event that was changed in the control plane’s log is named by the webhook’s copy', async () => {
  const database = '/var/lib/svault-control-plane/data/control-plane.db';
  const output = await play([
    'systemctl stop svault-control-plane',
    `(cd /opt/svault/current/control-plane; node -e 'new (require("better-sqlite3"))("${database}").exec("UPDATE audit_events SET outcome = \\x27error\\x27 WHERE seq = 3")')`,
    'systemctl start svault-control-plane',
    ...beginning(RUNBOOK, 'svault-run webhook audit export').map((block) => `(${block}) || echo "exit $?"`),
    'rm copy.jsonl',
  ]);
  expect(output).toMatch(/\b3\b[\s\S]*exit 8/);
});
