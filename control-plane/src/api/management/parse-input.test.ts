import { AppError } from '@svault/shared';
import { expect, it } from 'vitest';
import { z } from 'zod';
import type { ArgumentIssue } from '../../core/errors.ts';
import { parseInput, parsePath } from './parse-input.ts';

const issuesOf = (schema: z.ZodType, input: unknown): ArgumentIssue[] => {
  try {
    parseInput(schema, input);
    return [];
  } catch (error) {
    return error instanceof AppError ? (error.details?.['issues'] as ArgumentIssue[]) : [];
  }
};

it('parseInput names unknown members, at most 100', () => {
  const members = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`m${n}`, n]));
  expect(issuesOf(z.strictObject({}), members(3)).map(({ path }) => path)).toEqual(['m0', 'm1', 'm2']);
  expect(issuesOf(z.strictObject({}), members(20_000))).toHaveLength(100);
});

it('parseInput names the place of a NUL at any depth', () => {
  const schema = z.object({ tags: z.array(z.string()) });
  expect(issuesOf(schema, { tags: ['a', 'b\0'] }).map(({ path }) => path)).toEqual(['tags.1']);
});

it('parsePath finds nothing by a text with a NUL', () => {
  expect(() => parsePath(z.object({ id: z.string() }), { id: 'a\0' })).toThrow(
    expect.objectContaining({ code: 'NOT_FOUND' }),
  );
});

it('parseInput says plainly which member is missing and which must be a whole number', () => {
  const schema = z.object({ limit: z.int(), name: z.string(), role: z.string('must be a role').optional() });
  expect(issuesOf(schema, { limit: 1.5, role: 7 })).toEqual([
    { path: 'limit', message: 'must be a whole number' },
    { path: 'name', message: 'is missing' },
    { path: 'role', message: 'must be a role' },
  ]);
});
