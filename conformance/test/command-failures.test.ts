import { describe, expect, test } from 'vitest';
import { selectChecks } from '../src/registry.ts';
import { useCommandLine } from './command-line.ts';

const line = useCommandLine();
const { run, targetFlags, bindLink } = line;

describe('a failure says what to look at', () => {
  const text = (): string => line.out.join('\n');
  const checks = (...ids: string[]): readonly string[] => ['--only', ...ids, '--timeout', '1'];

  test('of a webhook that waits for a body which is held back', async () => {
    const rules = { waitsForBody: ['signatures', 'tickets'] } as const;
    const areas = checks('signature.head-first', 'ticket.head-first');
    expect(await run(...(await targetFlags(rules)), ...areas)).toBe(1);
    for (const id of ['SIG-61', 'TIX-44']) {
      expect(text()).toContain(`expected:\n    an answer to the head alone (${id})`);
      expect(text()).toMatch(new RegExp(`hint: .*answer before you read the body \\(${id}\\)`));
    }
    expect(text()).not.toMatch(/--timeout|the MAC was made over/);
  });

  test('of a webhook that waits for a provider which gives no answer', async () => {
    const flags = await targetFlags({ providerTimeoutMs: 3_000 });
    expect(await run(...flags, ...checks('mint.provider-hangs'))).toBe(1);
    expect(text()).toContain('hint: the suite’s provider answers nothing on purpose');
    expect(text()).not.toContain('--timeout');
  });

  test('of a link that the webhook does not know', async () => {
    const link = (await bindLink()).replace(/code=[^&]+/, 'code=0b5e0bb5-8e4c-4d0f-9a55-3c1c3a4c7d10');
    expect(await run('--bind-link', link, ...checks('binding.exchange', 'health.signed'))).toBe(1);
    expect(text()).toMatch(/hint: the code is unknown or replaced \(EXC-19\): .* share a data folder/);
    expect(text()).toContain('capabilities: unknown (not bound)');
    expect(text().match(/the MAC was made over this base/g)).toHaveLength(1);
    expect(text()).toContain('sent, came back: as shown with binding.exchange');
    expect(text()).toMatch(/\d+ passed, 2 failed \(1 not testable\), 0 warnings, 0 skipped$/);
  });

  test('of a webhook that is configured for another control plane', async () => {
    const link = await bindLink();
    const elsewhere = ['--service-url', 'http://127.0.0.1:9'];
    expect(await run('--bind-link', link, ...elsewhere, ...checks('health.signed'))).toBe(1);
    expect(text()).toContain('hint: 400: is the webhook configured for http://127.0.0.1:9 (EXC-07)?');
    expect(text()).toMatch(/expected:\n +the setup to succeed/);
  });

  test('of every check that could not be tested, since a baseline needs each id', async () => {
    const flags = await bindLink();
    await line.webhook?.close();
    expect(await run('--bind-link', flags, '--only', 'ticket')).toBe(1);
    for (const { id } of selectChecks(['ticket'])) expect(text()).toContain(id);
  });

  test('and what is not claimed is said once', async () => {
    const signedHealth = { status: 'ok', capabilities: [] };
    await run(...(await targetFlags({ signedHealth })), '--only', 'type', 'totp', 'destination');
    expect(text()).toContain('\ncapabilities: none\n');
    expect(text()).toMatch(/^skip {2}type .* skipped: [a-z, ]+ not claimed$/m);
    expect(text()).not.toMatch(/not claimed.*not claimed/);
  });

  test('and an HTML report says what it conforms in', async () => {
    await run(...(await targetFlags()), '--only', 'ticket.single-use', '--format', 'html');
    expect(text()).toMatch(/conforms to protocol v1 in what it claims: storage, /);
  });
});
