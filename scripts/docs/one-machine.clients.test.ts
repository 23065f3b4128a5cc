import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type InstalledMachine,
  FETCH,
  INSTALLATION,
  beginning,
  prepareMachine,
} from './installed-machine.ts';
import { blocksOf } from './machine-in-folder.ts';

let machine: InstalledMachine;
beforeAll(async () => {
  machine = await prepareMachine({
    NEW: '0.2.0',
    OLD: '0.1.0',
    KEPT: '"$here"/kept',
    'FILE.backup': '"$(ls "$here"/var/backups/svault/webhook/*.backup | tail -1)"',
  });
});
afterAll(() => machine?.remove());

/** The nightly backups, encrypted, what is to be kept, and then the loss of everything else. */
const LOSS = `
mkdir -p "$here"/kept/control-plane "$here"/kept/webhook
age-keygen -o "$here/kept/identity.txt" 2> /dev/null
for each in control-plane webhook; do
  echo "SV_BACKUP_RECIPIENTS=$(age-keygen -y "$here/kept/identity.txt")" >> "/etc/svault/$each/env"
done
systemctl start svault-backup@control-plane svault-backup@webhook
systemctl stop svault-control-plane svault-webhook
for each in control-plane webhook; do
  mv "/etc/svault/$each"/env "/etc/svault/$each"/root.key "$here/kept/$each/"
  mv "$(ls "/var/backups/svault/$each"/*.backup | tail -1)" "$here/kept/$each/"
  rm -r "/etc/svault/$each"/* "/var/lib/svault-$each"
done
`;

/** Some thirty starts of a program, one after another. */
const HANG_MS = 600_000;

test(
  'the pages of one machine, from the install over bind, backup, rotation, upgrade and rollback to a restore of one program and of both, work as they are written',
  async () => {
    const upgrades = blocksOf('docs/operate/upgrades.md', 'sh');
    const keys = blocksOf('docs/operate/key-rotation.md', 'sh');
    const backups = blocksOf('docs/operate/backup-and-restore.md', 'sh');
    const { code, output } = await machine.run([
      ...INSTALLATION,
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
      LOSS,
      ...beginning(backups, '(umask 077; echo', 'systemctl enable --now svault-webhook'),
      // Without what asks the webhook, which rejects all requests for thirty seconds.
      'svault() { "/opt/svault/current/svault" "$@"; }',
      ...beginning(backups, 'export SVAULT_BASE_URL').map((block) => block.split('\nsvault doctor')[0] ?? ''),
      'svault agents list',
      'svault-run webhook audit verify',
    ]);
    expect(code, output).toBe(0);
    expect(output).toMatch(/answers +yes/);
    expect(output.match(/fetched: .*the secret/g)).toHaveLength(4);
    expect(output).toMatch(/Restored the backup of [\s\S]*the log is whole: \d+ entries in 2 epoch\(s\)/);
    expect(output.split('Restored the backup of ')).toHaveLength(4);
    expect(output).toMatch(/ci +active[\s\S]*the log is whole: \d+ entries in 3 epoch\(s\)/);
  },
  HANG_MS,
);
