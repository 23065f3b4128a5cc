import { afterEach, describe, expect, it } from 'vitest';
import { ManualClock } from '@svault/shared';
import { type DoorFixture, credentialTicket, startDoor, storePlain, storeTicket } from './door-fixture.ts';
import { type ServingProcess, serveProcess } from './run-webhook.ts';

let door: DoorFixture | undefined;
let serving: ServingProcess | undefined;
afterEach(async () => {
  await serving?.end('SIGKILL');
  await door?.stop();
});

describe('a process that is killed', () => {
  it('has forgotten no claim that it answered for', async () => {
    door = await startDoor({ clock: new ManualClock(Date.now()) });
    const side = await door.bind();
    expect((await storePlain(door, storeTicket(door, side))).status).toBe(200);
    await door.webhook.close();
    const [ticket, headers] = [credentialTicket(door, side), door.sign({ key: side.key })];
    const useBoth = async ({ url }: ServingProcess): Promise<number[]> => {
      const answers = await Promise.all([
        fetch(`${url}/v1/credential?ticket=${ticket}`),
        fetch(`${url}/v1/health`, { method: 'POST', headers }),
      ]);
      return answers.map(({ status }) => status);
    };
    serving = await serveProcess(door.env);
    expect(await useBoth(serving)).toEqual([200, 200]);
    await serving.end('SIGKILL');
    serving = await serveProcess(door.env);
    expect(await useBoth(serving)).toEqual([401, 401]);
  });
});
