import { describe, expect, onTestFinished, test } from 'vitest';
import { randomToken } from '@svault/shared';
import { makePlace, serveOn } from '../support/management-service.ts';
import { serviceInTest } from '../support/use-service.ts';
import { command, program } from '../support/run-program.ts';

describe('beside a running serve', () => {
  test('owner-link prints a link that signs in once', async () => {
    const service = await serviceInTest();
    const { code, stdout } = await program(service.place.env, 'owner-link');
    expect(code).toBe(0);
    service.clock.jump(Date.now() - service.clock.now());
    const token = new URL(stdout.trim()).searchParams.get('token');
    expect((await service.anyone('POST', '/api/login/link', { body: { token } })).status).toBe(200);
    expect((await service.anyone('POST', '/api/login/link', { body: { token } })).status).toBe(401);
  });

  test('rotate-master-key: the running serve goes on, the next start needs the new key', async () => {
    const service = await serviceInTest();
    const { agent, apiKey } = (await service.admin('POST', '/api/agents', { body: { name: 'kept' } })).json;
    const next = randomToken(32);
    const env = { ...service.place.env, SV_MASTER_KEY_NEXT: next };
    for (const _ of ['once', 'and again, as after a kill'])
      expect((await command(env, 'rotate-master-key')).code).toBe(0);

    const reveal = `/api/agents/${agent.id}/reveal-key`;
    expect((await service.admin('POST', reveal)).json).toEqual({ apiKey });
    const late = (await service.admin('POST', '/api/agents', { body: { name: 'late' } })).json;
    await service.running.close();

    await expect(serveOn(service.place)).rejects.toThrow('SV_MASTER_KEY does not open this database');
    const rotated = await serveOn({ ...service.place, env: { ...service.place.env, SV_MASTER_KEY: next } });
    expect((await rotated.admin('POST', reveal)).json).toEqual({ apiKey });
    const lateReveal = await rotated.admin('POST', `/api/agents/${late.agent.id}/reveal-key`);
    expect(lateReveal.json).toEqual({ apiKey: late.apiKey });
    await rotated.running.close();
  });

  test('rotate-master-key says which setting it needs', async () => {
    const service = await serviceInTest();
    const { code, stderr } = await command(service.place.env, 'rotate-master-key');
    expect([code, stderr]).toEqual([2, expect.stringContaining('SV_MASTER_KEY_NEXT')]);
  });
});

describe('starts that are refused', () => {
  test('R20: a wrong root key, of any command', async () => {
    const service = await serviceInTest();
    await service.running.close();
    const before = await service.place.state.digest();
    const env = { ...service.place.env, SV_MASTER_KEY: randomToken(32) };
    for (const words of [[], ['owner-link'], ['audit', 'verify'], ['rotate-master-key']]) {
      const { code, stderr } = await command({ ...env, SV_MASTER_KEY_NEXT: randomToken(32) }, ...words);
      expect([code, stderr]).toEqual([
        1,
        expect.stringContaining('SV_MASTER_KEY does not open this database'),
      ]);
    }
    expect(await service.place.state.digest()).toBe(before);
  });

  test('a database of a newer program, with both versions named', async () => {
    const service = await serviceInTest();
    await service.running.close();
    await service.place.state.run(
      "INSERT INTO schema_migrations (id, name) VALUES (9999, 'from-the-future')",
    );
    await expect(serveOn(service.place)).rejects.toThrow(/schema 9999 \(from-the-future\).*knows up to \d+/);
  });

  test('every problem of the settings at once, and no value of any', async () => {
    const place = await makePlace({
      SV_BASE_URL: 'http://svault.example',
      SV_DATABASE_URL: 'mysql://somewhere',
      SV_BOOTSTRAP_ADMIN_KEY: 'svadmin_tooshort',
      SV_LISTENN: '127.0.0.1:0',
    });
    onTestFinished(() => place.remove());
    const { code, stderr } = await program(place.env);
    expect([code, stderr]).toEqual([2, expect.stringContaining('SV_LISTENN')]);
    expect(stderr).not.toContain('tooshort');
  });
});
