import { expect, test } from 'vitest';
import { z } from 'zod';
import { parseInput, parsePath } from './parse-input.ts';

const schema = z.strictObject({ id: z.string(), list: z.array(z.string()).optional() });

test('gives what fits, and names every place of what does not', () => {
  expect(parseInput(schema, { id: 'a', list: ['b'] })).toEqual({ id: 'a', list: ['b'] });
  expect(() => parseInput(schema, { id: 1, list: ['b', 2], more: 3 })).toThrow(
    expect.objectContaining({
      code: 'INVALID_ARGUMENT',
      details: { issues: ['id', 'list.1', 'more'].map((path) => ({ path, message: expect.any(String) })) },
    }),
  );
});

test('lets no NUL through, at any depth: not every database can be asked for it', () => {
  expect(() => parseInput(schema, { id: 'a\0', list: ['b', '\0'] })).toThrow(
    expect.objectContaining({
      details: { issues: ['id', 'list.1'].map((path) => ({ path, message: 'must have no NUL' })) },
    }),
  );
  expect(() => parseInput(z.string(), '\0')).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
});

test('finds nothing by a path with NUL', () => {
  expect(parsePath(schema, { id: 'a' })).toEqual({ id: 'a' });
  expect(() => parsePath(schema, { id: '\0' })).toThrow(expect.objectContaining({ code: 'NOT_FOUND' }));
});
