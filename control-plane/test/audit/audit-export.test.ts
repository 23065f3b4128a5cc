import { once } from 'node:events';
import { type IncomingMessage, get } from 'node:http';
import { type ChainedEvent, EMPTY_CHAIN, followChain } from '@svault/shared/audit-chain';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { type PairedService, startPairedService } from '../support/paired-service.ts';

const EXPORT = '/api/audit/export';

let service: PairedService;
beforeAll(async () => {
  service = await startPairedService();
});
afterAll(() => service.stop());

const textOf = async (query: string): Promise<string> => {
  const { status, text } = await service.admin('GET', `${EXPORT}?${query}`);
  expect(status).toBe(200);
  return text;
};

describe('GET /api/audit/export', () => {
  test('gives each event that its filter matches, as the list does and in its order, over several pages', async () => {
    const { id } = await service.agent();
    for (let n = 0; n < 103; n++) {
      const path = `/api/agents/${id}`;
      await service.admin('PATCH', path, { body: { description: `the ${n}th` } });
    }
    const query = `agentId=${id}&eventType=AGENT_UPDATED`;
    const { json: first } = await service.admin('GET', `/api/audit?limit=100&${query}`);
    const next = `/api/audit?limit=100&${query}&cursor=${first.nextCursor}`;
    const { json: rest } = await service.admin('GET', next);
    const lines = (await textOf(query)).trimEnd().split('\n');
    expect(lines).toHaveLength(103);
    const vaultId = expect.stringMatching(/^vlt_/) as string;
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(
      [...first.items, ...rest.items].map((event) => ({ ...event, vaultId })),
    );
  });

  test('gives an event of a type that a later version added, after going back, as the list does', async () => {
    const { admin, agent, state, stop } = await startPairedService();
    onTestFinished(stop);
    const { id } = await agent();
    await state.run(
      `UPDATE audit_events SET event_type = 'LATER', channel = 'later' WHERE agent_id = '${id}'`,
    );
    const { status, json } = await admin('GET', `/api/audit?agentId=${id}`);
    expect([status, json.items[0]]).toMatchObject([
      200,
      { eventType: 'LATER', origin: { channel: 'later' } },
    ]);
    const exported = await admin('GET', `${EXPORT}?agentId=${id}`);
    expect(JSON.parse(exported.text)).toMatchObject({ eventType: 'LATER' });
  });

  test('writes CSV in which no text of an agent is a formula, and none leaves its cell', async () => {
    const formulas = ['=1+1', '+1', '-1', '@SUM("1")', '\uFF1D1', 'safe'];
    const agent = await service.agent();
    for (const each of formulas) await agent.get(each);
    const text = await textOf(`format=csv&agentId=${agent.id}&outcome=denied`);
    const [head = '', ...lines] = text.trimEnd().split('\r\n');
    expect(head.split(',').slice(0, 4)).toEqual(['seq', 'timestamp', 'eventType', 'outcome']);
    const column = head.split(',').indexOf('serviceName');
    expect(lines.map((line) => line.split(',')[column])).toEqual(
      formulas.toReversed().map((each) => (each === 'safe' ? '"safe"' : `"'${each.replaceAll('"', '""')}"`)),
    );
  });

  test('says the type and a name for the file, and answers HEAD without the log', async () => {
    for (const [format, type] of [
      ['csv', 'text/csv'],
      ['jsonl', 'application/jsonl'],
    ]) {
      const { headers, text } = await service.admin('HEAD', `${EXPORT}?format=${format}`);
      expect([headers.get('content-type'), headers.get('content-disposition'), text]).toEqual([
        `${type}; charset=utf-8`,
        `attachment; filename="svault-audit.${format}"`,
        '',
      ]);
    }
  });

  test('gives the whole log oldest first, from any number on, as a chain that verifies by itself', async () => {
    const eventsFrom = async (query: string) =>
      (await textOf(`order=asc${query}`))
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as ChainedEvent & { readonly previousHash: string });
    const all = await eventsFrom('');
    const head = { seq: all.length, hash: all.at(-1)?.hash };
    expect(all.length).toBeGreaterThan(101);
    expect(followChain(EMPTY_CHAIN, all)).toEqual(head);
    for (const after of [0, 1, 99, 100, 101, all.length - 1]) {
      const events = await eventsFrom(`&after=${after}`);
      expect(events).toEqual(all.slice(after));
      expect(followChain({ seq: after, hash: events[0]!.previousHash }, events)).toEqual(head);
    }
    expect(await textOf(`order=asc&after=${all.length}`)).toBe('');
    expect(await textOf(`order=asc&format=csv&after=${all.length + 5}`)).toMatch(/^seq,[^\n]+\r\n$/);
  });

  test('runs at most twice at a time for an account, whose clients read as slowly as they like', async () => {
    // More than the buffers of a connection take, by rows of the log put before its start.
    for (let n = 0; n < 9; n++)
      await service.state
        .run(`INSERT INTO audit_events SELECT vault_id, seq - (SELECT max(seq) - min(seq) + 1 FROM audit_events),
        id, event_type, outcome, occurred_at, agent_id, proxy_id, user_id, service_name, event_count, detail, request_id, channel,
        address, authenticated_by, user_agent, hash FROM audit_events`);
    const headers = { authorization: `Bearer ${service.pair.adminKey}` };
    const open = async (): Promise<IncomingMessage> => {
      const asked = get(service.pair.controlPlaneUrl() + EXPORT, { headers });
      const [answer] = (await once(asked, 'response')) as [IncomingMessage];
      return answer.on('error', () => undefined).pause();
    };
    const [first, second] = [await open(), await open()];
    expect([first.statusCode, second.statusCode]).toEqual([200, 200]);
    expect(await service.admin('GET', EXPORT)).toMatchObject({ status: 429, json: { code: 'RATE_LIMITED' } });
    first.destroy();
    await vi.waitFor(async () => {
      const third = await open();
      third.destroy();
      expect(third.statusCode).toBe(200);
    }, 60_000);
    second.destroy();
  });

  test.each([
    'after=1',
    'order=asc&outcome=denied',
    'order=desc&after=1',
    'order=asc&after=-1',
    'order=up',
    'format=xml',
    'outcome=perhaps',
    'cursor=x',
    'limit=5',
  ])('rejects %s', async (query) => {
    expect((await service.admin('GET', `${EXPORT}?${query}`)).status).toBe(422);
  });
});
