import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type LinkedService, startLinkedService } from '../support/linked-service.ts';
import { addEvents } from '../support/beside-the-service.ts';
import { serveOn } from '../support/management-service.ts';
import { uniqueName } from '../support/unique-name.ts';

describe('shipping the log', () => {
  let service: LinkedService;

  beforeEach(async () => {
    service = await startLinkedService({}, { timers: true });
  });
  afterEach(() => service.stop());

  const eventually = (check: () => unknown) => vi.waitFor(check, { timeout: 30_000, interval: 50 });

  /** Ids in the order in which they were written and must arrive. */
  const written = async (): Promise<string[]> => (await service.log()).toReversed().map(({ id }) => id);

  const arrived = (): string[] => service.webhook.events.map(({ id }) => id);

  it('loses, reorders and repeats nothing in two outages with a restart between them, while events are written', async () => {
    await service.bind();
    let { admin, running } = service;
    const write = async (count: number): Promise<void> => {
      const create = () => admin('POST', '/api/agents', { body: { name: uniqueName('builder') } });
      for (let left = count; left > 0; left -= 20) await Promise.all(Array.from({ length: 20 }, create));
    };
    /** In the second half of each outage the webhook accepts events and its responses are lost. */
    const outage = async (events: number): Promise<void> => {
      await write(20);
      await service.webhook.shut();
      await write(events);
      // More than one batch.
      await addEvents({ ...service, admin }, 250);
      let lost = 0;
      service.webhook.fault = (_path, sent) =>
        sent.includes('"audit.append"') && lost++ < 2 ? 'lose' : undefined;
      await service.webhook.open();
      await eventually(() => {
        service.clock.advance(1_000);
        expect(lost).toBeGreaterThanOrEqual(2);
      });
    };
    await outage(20);
    await running.close();
    ({ admin, running } = await serveOn(service.place, service.clock));
    await outage(20);
    await write(20);

    const ids: string[] = [];
    let cursor = '';
    do {
      const { json } = await admin('GET', `/api/audit?limit=100${cursor && `&cursor=${cursor}`}`);
      ids.unshift(...(json.items as { id: string }[]).map(({ id }) => id).toReversed());
      cursor = json.nextCursor ?? '';
    } while (cursor !== '');
    expect(ids.length).toBeGreaterThan(600);
    await eventually(() => {
      service.clock.advance(1_000);
      expect(arrived()).toEqual(ids);
    });
    // The events without an acknowledgement came once more.
    expect(service.webhook.received.length).toBeGreaterThan(ids.length);
    await running.close();
  });

  it('keeps events while no webhook is bound', async () => {
    await service.bind();
    await eventually(async () => expect(arrived()).toEqual(await written()));
    await service.admin('DELETE', '/api/webhook');
    const agent = await service.agent('github');
    await agent.get('unknown');
    const before = arrived().length;
    expect(await service.bind()).toMatchObject({ status: 201 });
    await eventually(async () => expect(arrived()).toEqual(await written()));
    expect(arrived().length).toBeGreaterThan(before + 2);
    expect(service.webhook.events).toContainEqual(
      expect.objectContaining({
        eventType: 'AGENT_CREDENTIAL_ACCESS',
        outcome: 'denied',
        agentId: agent.id,
        serviceName: 'unknown',
        detail: { code: 'NO_GRANT', origin: expect.objectContaining({ channel: 'rest' }) },
      }),
    );
  });
});

describe('a webhook that limits what it writes', () => {
  it('is called again after its Retry-After, every event arrives in order (STO-38), and its owner sees how far its copy reaches', async () => {
    const service = await startLinkedService();
    try {
      await service.bind();
      await service.agent('github');
      const refused = { error: 'too much was written', code: 'RATE_LIMITED', retryAfter: 120 };
      const asked: number[] = [];
      const beganMs = service.clock.now();
      service.webhook.fault = (_path, sent) => {
        if (!sent.includes('"audit.append"')) return undefined;
        asked.push(service.clock.now() - beganMs);
        if (asked.length > 1) return undefined;
        const body = JSON.stringify({ results: [refused, { head: {}, items: [] }] });
        return { status: 200, body };
      };
      const ship = () => service.runJob('audit shipping');
      const copy = async () => (await service.admin('GET', '/api/webhook')).json.log;
      await ship();
      await vi.waitFor(() => expect(asked).toEqual([0]), { timeout: 30_000 });
      const events = (await service.log()).toReversed();
      const ids = events.map(({ id }) => id);
      expect(await copy()).toEqual({ newest: ids.length, acknowledged: 0, behindSince: null });
      service.clock.advance(70_000);
      expect(await copy()).toMatchObject({ acknowledged: 0, behindSince: events[0]?.timestamp });
      await vi.waitFor(
        async () => {
          service.clock.advance(10_000);
          await ship();
          expect(service.webhook.events.map(({ id }) => id)).toEqual(expect.arrayContaining(ids));
        },
        { timeout: 30_000, interval: 20 },
      );
      await vi.waitFor(async () => {
        const { newest, ...rest } = await copy();
        expect(rest).toEqual({ acknowledged: newest, behindSince: null });
      });
      expect(asked[1]).toBeGreaterThanOrEqual(120_000);
      expect(service.webhook.events.map(({ id }) => id).slice(0, ids.length)).toEqual(ids);
    } finally {
      await service.stop();
    }
  });
});
