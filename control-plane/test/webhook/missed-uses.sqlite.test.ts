import { copyFileSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { jobsByHand } from '@svault/test-kit/jobs-by-hand';
import { inDatabase } from '../support/database-files.ts';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type PlainUpstream, startPlainUpstream } from '../proxy-clients/plain-upstream.ts';
import { clientOf } from '../support/management-service.ts';
import { storeOn } from '../support/pair-agents.ts';
import { type PairedService, startPairedService } from '../support/paired-service.ts';
import { type TestProxy, proxyOn } from '../support/proxy-steps.ts';
import type { LoggedEvent } from '../support/service-steps.ts';

/*
 * A power cut can take events of proxied calls that the webhook has carried out. The control plane writes them again by the
 * webhook's log. Its files are put back to an earlier moment here, as after a power cut that nothing later survived.
 */

const jobs = jobsByHand();
let service: PairedService;
let upstream: PlainUpstream;
let proxy: TestProxy;
let key: string;

beforeEach(async () => {
  upstream = await startPlainUpstream((_req, res) => res.end('{}'));
  service = await startPairedService({ startJob: jobs.startJob });
  await storeOn(service.pair, 'github', {
    tokenType: 'PlainText',
    value: 'a credential that is long enough',
    allowedHosts: [upstream.origin],
  });
  proxy = await proxyOn(
    { running: { url: service.pair.controlPlaneUrl() }, admin: service.admin },
    { upstreamUrl: upstream.url },
  );
  ({ key } = proxy);
  await send();
  // The head of the webhook's log is remembered with each shipment.
  await ship();
});
afterEach(async () => {
  await service.stop();
  await upstream.close();
});

/** Through whichever process runs now. */
const send = async (): Promise<number> =>
  (
    await clientOf(service.pair.controlPlaneUrl(), { authorization: `Bearer ${key}` })(
      'POST',
      '/api/proxy/mcp',
      {
        body: { jsonrpc: '2.0', id: 1, method: 'tools/call' },
      },
    )
  ).status;
const ship = async (): Promise<void> => {
  await expect
    .poll(async () => {
      await jobs.run('audit shipping');
      return service.state.value('SELECT sum(head_seq - shipped_seq) FROM audit_chains');
    })
    .toBe(0);
};
const uses = async (): Promise<readonly LoggedEvent[]> => {
  const { items } = await service.pair.admin.call<{ items: LoggedEvent[] }>('GET', '/api/audit?limit=100');
  return items.filter(({ eventType }) => eventType === 'PROXY_CREDENTIAL_USE').toReversed();
};
const idOf = ({ origin }: LoggedEvent): string => origin?.['requestId'] ?? '';
/** Of the calls that the webhook has injected the credential into, oldest first. */
const injected = (): readonly string[] =>
  inDatabase(join(service.pair.dir, 'webhook', 'webhook.db'), (db) =>
    db
      .prepare<[], string>(
        `SELECT json_extract(detail, '$.jti') FROM audit_log
         WHERE event_type = 'CREDENTIAL_INJECTED' AND outcome = 'success' ORDER BY row`,
      )
      .pluck()
      .all(),
  );
const files = (): string[] =>
  readdirSync(service.pair.dir).filter((name) => /^control-plane\.db(-wal)?$/.test(name));
/** @returns what loses all that is written from now on, and starts the control plane again */
async function beforeThePowerCut(): Promise<() => Promise<void>> {
  const { dir } = service.pair;
  const kept = join(dir, 'kept');
  mkdirSync(kept);
  for (const name of files()) copyFileSync(join(dir, name), join(kept, name));
  return async () => {
    await service.pair.stop('control-plane');
    for (const name of files()) rmSync(join(dir, name));
    for (const name of readdirSync(kept)) copyFileSync(join(kept, name), join(dir, name));
    await service.pair.start('control-plane');
  };
}

test('uses that a power cut took from the log are written again, once, as recovered', async () => {
  const cutPower = await beforeThePowerCut();
  for (let sent = 0; sent < 3; sent++) expect(await send()).toBe(200);
  await cutPower();
  expect(await uses()).toHaveLength(1);
  // A call of the new process is not missed.
  expect(await send()).toBe(200);
  await jobs.run('missed uses');
  const [first, own, ...recovered] = await uses();
  expect(recovered.map(idOf)).toEqual(injected().slice(1, 4));
  expect([first, own].map((use) => use && [idOf(use), use.detail])).toEqual([
    [injected()[0], undefined],
    [injected()[4], undefined],
  ]);
  for (const use of recovered)
    expect(use).toMatchObject({
      outcome: 'success',
      proxyId: proxy.id,
      serviceName: 'github',
      detail: { recovered: true, usedAt: expect.any(String) },
      origin: { channel: 'proxy' },
    });
  await jobs.run('missed uses');
  await ship();
  await service.pair.stop('control-plane');
  await service.pair.start('control-plane');
  await jobs.run('missed uses');
  await ship();
  expect((await uses()).map(idOf).toSorted()).toEqual(injected().toSorted());
  expect(await service.pair.admin.call('GET', '/api/audit/verify')).toMatchObject({ intact: true });
});

test('the logs are compared before a shipment remembers a newer head', async () => {
  const cutPower = await beforeThePowerCut();
  await send();
  await ship();
  await cutPower();
  await send();
  await ship();
  expect((await uses()).map(idOf).toSorted()).toEqual(injected().toSorted());
});

test('more uses than a page of the webhook’s log has are all found', async () => {
  const cutPower = await beforeThePowerCut();
  await Promise.all(Array.from({ length: 130 }, async () => expect([200, 429]).toContain(await send())));
  await cutPower();
  await jobs.run('missed uses');
  const rows = await service.state.rows<{ request_id: string }>(
    "SELECT request_id FROM audit_events WHERE event_type = 'PROXY_CREDENTIAL_USE' AND outcome = 'success'",
  );
  expect(injected().length).toBeGreaterThan(100);
  expect(rows.map(({ request_id: id }) => id).toSorted()).toEqual(injected().toSorted());
});

test('a use that the webhook refused, and one of an unreachable webhook, are not written', async () => {
  const cutPower = await beforeThePowerCut();
  await service.pair.stop('webhook');
  await send();
  await service.pair.start('webhook');
  await cutPower();
  await jobs.run('missed uses');
  expect((await uses()).map(idOf)).toEqual(injected());
});
