import { afterAll, beforeAll, expect, it } from 'vitest';
import { type LinkedService, startLinkedService } from '../support/linked-service.ts';
import { type Call, serveOn } from '../support/management-service.ts';

/* Of two processes on one database one ships the log, and the other continues where it stops. */

let service: LinkedService;
let other: Awaited<ReturnType<typeof serveOn>>;

beforeAll(async () => {
  service = await startLinkedService({}, { timers: true });
  other = await serveOn(service.place, service.clock);
  await service.bind();
});
afterAll(async () => {
  await other.running.close();
  await service.stop();
});

const write = async (...processes: readonly [Call, ...Call[]]): Promise<void> => {
  const body = { name: 'builder' };
  const callOf = (turn: number): Call => processes[turn % processes.length] ?? processes[0];
  for (let rounds = 0; rounds < 3; rounds++)
    await Promise.all(Array.from({ length: 20 }, (_, turn) => callOf(turn)('POST', '/api/agents', { body })));
};
const written = async (): Promise<string[]> => {
  const ids: string[] = [];
  let cursor = '';
  do {
    const { json } = await other.admin('GET', `/api/audit?limit=100${cursor && `&cursor=${cursor}`}`);
    ids.unshift(...(json.items as { id: string }[]).map(({ id }) => id).toReversed());
    cursor = json.nextCursor ?? '';
  } while (cursor !== '');
  return ids;
};
const expectAll = async (): Promise<void> => {
  const { state } = service.place;
  const unshipped = () => state.value('SELECT head_seq - shipped_seq FROM audit_chains');
  await expect.poll(unshipped).toBe(0);
  expect(service.webhook.received).toEqual(await written());
};

it('two processes ship each event once and in order, also after either has stopped', async () => {
  await write(service.admin, other.admin);
  await expectAll();

  await service.running.close();
  await write(other.admin);
  await expectAll();
});
