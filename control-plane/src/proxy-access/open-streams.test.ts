import { newId } from '@svault/shared';
import { expect, it } from 'vitest';
import { createOpenStreams } from './open-streams.ts';

it('gives each proxy 64 places, and each place once', () => {
  const streams = createOpenStreams();
  const [one, other] = [newId('prx'), newId('prx')];
  const open = Array.from({ length: 64 }, () => streams.open(one));
  expect(open).not.toContain(undefined);
  expect(streams.open(one)).toBeUndefined();
  expect(streams.open(other)).toBeDefined();
  // Twice closed is closed once.
  open[0]?.close();
  open[0]?.close();
  expect(streams.open(one)).toBeDefined();
  expect(streams.open(one)).toBeUndefined();
});
