import { afterEach, describe, expect, it } from 'vitest';
import { ManualClock } from '@svault/shared';
import {
  type WebhookFixture,
  credentialTicket,
  startFixture,
  storePlain,
  storeTicket,
} from '../support/webhook-fixture.ts';
import { type ServingProcess, serveProcess } from '../support/run-webhook.ts';

let fixture: WebhookFixture | undefined;
let serving: ServingProcess | undefined;
afterEach(async () => {
  await serving?.end('SIGKILL');
  await fixture?.stop();
});

describe('a process that is killed', () => {
  it('has lost no claim that it confirmed', async () => {
    fixture = await startFixture({ clock: new ManualClock(Date.now()) });
    const side = await fixture.bind();
    expect((await storePlain(fixture, storeTicket(fixture, side))).status).toBe(200);
    await fixture.webhook.close();
    const [ticket, headers] = [credentialTicket(fixture, side), fixture.sign({ key: side.key })];
    const useBoth = async ({ url }: ServingProcess): Promise<number[]> => {
      const answers = await Promise.all([
        fetch(`${url}/v1/credential?ticket=${ticket}`),
        fetch(`${url}/v1/health`, { method: 'POST', headers }),
      ]);
      return answers.map(({ status }) => status);
    };
    serving = await serveProcess(fixture.env);
    expect(await useBoth(serving)).toEqual([200, 200]);
    await serving.end('SIGKILL');
    serving = await serveProcess(fixture.env);
    expect(await useBoth(serving)).toEqual([401, 401]);
  });
});
