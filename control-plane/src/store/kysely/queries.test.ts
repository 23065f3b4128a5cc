import fc from 'fast-check';
import { expect, it } from 'vitest';
import { chunksOf } from './queries.ts';

it('hands over everything in its order, in chunks of three sizes only', () => {
  fc.assert(
    fc.property(fc.array(fc.integer(), { maxLength: 700 }), (items) => {
      const chunks = [...chunksOf(items)];
      expect(chunks.flat()).toEqual(items);
      for (const { length } of chunks) expect(length).toBeOneOf([100, 10, 1]);
      expect(chunks.length).toBeLessThanOrEqual(items.length / 100 + 9 + 9);
    }),
  );
});
