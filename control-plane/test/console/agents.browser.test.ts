import { describe, expect, test } from 'vitest';
import { HOSTILE_NAMES, useConsole } from '../support/console.ts';

const own = useConsole();

describe('Agents', () => {
  test('lists agents whatever their names are, and leads to each by a permanent address', async () => {
    for (const name of HOSTILE_NAMES) await own.service.admin('POST', '/api/agents', { body: { name } });
    await own.open('/');
    await own.page.getByRole('link', { name: 'Agents' }).first().click();
    await own.page.getByRole('link', { name: HOSTILE_NAMES[0] }).waitFor();
    expect(await own.page.locator('b').count()).toBe(0);
    await own.expectSound('agents');
    await own.page.getByRole('link', { name: HOSTILE_NAMES[0] }).click();
    await own.page.getByText('No grant yet').waitFor();
    expect(await own.heading()).toBe(HOSTILE_NAMES[0]);
    await own.expectSound('agent');
    await own.page.reload();
    await own.page.getByText('No grant yet').waitFor();
    expect(await own.heading()).toBe(HOSTILE_NAMES[0]);
  });

  test('keeps the filter and the page in the address, and the way back', async () => {
    for (let n = 0; n < 51; n++) {
      // Agents of one time have no order.
      own.service.clock.advance(1);
      await own.service.admin('POST', '/api/agents', { body: { name: `numbered ${n}` } });
    }
    const { json } = await own.service.admin('GET', '/api/agents?limit=100');
    const { id } = json.items.find(({ name }: { name: string }) => name === 'numbered 50');
    await own.service.admin('POST', `/api/agents/${id}/suspend`);

    await own.open('/agents');
    await own.page.getByRole('link', { name: 'Next page' }).click();
    await own.page.getByRole('link', { name: 'numbered 50' }).waitFor();
    const second = own.page.url();
    expect(new URL(second).searchParams.has('cursor')).toBe(true);
    await own.page.goBack();
    await own.page.getByRole('link', { name: 'numbered 0' }).waitFor();
    await own.page.goto(second);
    await own.page.getByRole('link', { name: 'First page' }).waitFor();

    await own.page.getByLabel('Status').selectOption('suspended');
    await own.page.waitForURL(own.address('/agents?status=suspended'));
    await expect.poll(() => own.page.locator('main li').count()).toBe(1);
    expect(await own.page.locator('main li a').textContent()).toBe('numbered 50');
  });
});
