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
    'FILE.backup': '"$(ls "$here"/var/backups/svault/webhook/*.backup | tail -1)"',
  });
});
afterAll(() => machine?.remove());

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
  for (const folder of ['etc/systemd/system', 'opt/svault', 'usr/local/sbin', 'var/lib', 'var/backups'])
    mkdirSync(join(dir.path, folder), { recursive: true });
  for (const version of ['0.1.0', '0.2.0']) symlinkSync(ROOT, join(dir.path, 'opt/svault', version));
}

/** Some thirty starts of a program, one after another. */
const HANG_MS = 600_000;

test(
  'the pages of one machine, from the install over bind, backup, rotation, upgrade and rollback to a restore, work as they are written',
  async () => {
    const upgrades = blocksOf('docs/operate/upgrades.md', 'sh');
    const keys = blocksOf('docs/operate/key-rotation.md', 'sh');
    const backups = blocksOf('docs/operate/backup-and-restore.md', 'sh');
    const { code, output } = await machine.run([
      ...INSTALLATION,
    writeSettings();
    const commands = [
      ...beginning(install, 'cd /opt/svault/0.1.0', 'for each in control-plane webhook; do\n  (umask'),
      'install -m 0640 "$here"/control-plane.env "/etc/svault/control-plane/env"',
      'install -m 0640 "$here"/webhook.env "/etc/svault/webhook/env"',
      'install -m 0644 "$here"/authority.pem "/etc/svault/"',
      ...beginning(install, 'for each in control-plane webhook; do\n  chown'),
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
    ]);
    expect({ code, output }).toEqual({ code: 0, output: expect.stringMatching(/answers +yes/) });
    expect(output.match(/fetched: .*the secret/g)).toHaveLength(4);
    expect(output).toMatch(/Restored the backup of [\s\S]*the log is whole: \d+ entries in 2 epoch\(s\)/);
  },
  HANG_MS,
);
