import { expect, it } from 'vitest';
import { counter, reading } from './meters.ts';
import { createMetrics, metersOf } from './metrics.ts';

const COLOURS = counter('colours_total', 'Colours', { colour: ['red', 'blue'] });
const WAITING = reading('waiting', 'What waits');
const SIZES = reading('sizes', 'Sizes', { of: ['this', 'that'] });

it('counts every value that was not declared as one', async () => {
  const registry = createMetrics();
  const count = metersOf(registry).counter(COLOURS);
  for (const colour of ['red', 'green', '', 'other"} 1\nforged{x="', '__proto__', 'constructor'])
    count({ colour });
  expect((await registry.metrics()).split('\n').slice(2)).toEqual([
    'colours_total{colour="red"} 1',
    'colours_total{colour="blue"} 0',
    'colours_total{colour="other"} 5',
    '',
  ]);
});

it('leaves out what cannot be read, and shows the rest', async () => {
  const registry = createMetrics();
  const meters = metersOf(registry);
  meters.reading(WAITING)(() => Promise.reject(new Error('the database is down')));
  meters.reading(SIZES)(() => [[{ of: 'this' }, 7]]);
  const samples = (await registry.metrics()).split('\n').filter((line) => !/^#|^$/.test(line));
  expect(samples).toEqual(['sizes{of="this"} 7']);
});

it('asks once while an answer is outstanding, and does not wait for it', async () => {
  const registry = createMetrics();
  const answer = Promise.withResolvers<number>();
  let asked = 0;
  metersOf(registry).reading(WAITING)(async () => {
    asked += 1;
    return [[{}, await answer.promise]];
  });
  await registry.metrics();
  expect(await registry.metrics()).not.toContain('\nwaiting ');
  expect(asked).toBe(1);
  answer.resolve(3);
  expect(await registry.metrics()).toContain('\nwaiting 3\n');
});
