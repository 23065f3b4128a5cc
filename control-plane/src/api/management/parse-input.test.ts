import { AppError } from '@svault/shared';
import { expect, it } from 'vitest';
import * as z from 'zod';
import type { ArgumentIssue } from '../../core/errors.ts';
import { parseInput } from './parse-input.ts';

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

it('parseInput names what an unknown member may have meant', () => {
  const schema = z.strictObject({ serviceName: z.string().optional(), limit: z.string().optional() });
  expect(issuesOf(schema, { servcieName: 'a', what: 'b' }).map(({ message }) => message)).toEqual([
    'is not known here. Did you mean `serviceName`?',
    'is not known here',
  ]);
});

it('parseInput says plainly which member is missing and which must be a whole number', () => {
  const schema = z.object({ limit: z.int(), name: z.string(), role: z.string('must be a role').optional() });
  expect(issuesOf(schema, { limit: 1.5, role: 7 })).toEqual([
    { path: 'limit', message: 'must be a whole number' },
    { path: 'name', message: 'is missing' },
    { path: 'role', message: 'must be a role' },
  ]);
});

it('parseInput says why the key of a record is invalid', () => {
  const schema = z.object({ query: z.record(z.string().max(3, 'at most 3 characters'), z.string()) });
  expect(issuesOf(schema, { query: { long: '1' } })).toEqual([
    { path: 'query.long', message: 'at most 3 characters' },
  ]);
});
