import { expect, expectTypeOf, it } from 'vitest';
import { type RowOf, toChanges, toEntity, toRow } from './rows.ts';

interface Thing {
  readonly id: string;
  readonly lastUsedAt: string | undefined;
  readonly isOwner: boolean;
  readonly tags: readonly string[];
}

it('toRow and toEntity convert names and absence, and toChanges leaves out what stays', () => {
  const row = toRow<Thing>({ id: 'a', lastUsedAt: undefined, isOwner: true, tags: ['x'] });
  expect(row).toEqual({ id: 'a', last_used_at: null, is_owner: 1, tags: '["x"]' });
  expectTypeOf(row).toEqualTypeOf<{
    id: string;
    last_used_at: string | null;
    is_owner: 0 | 1;
    tags: string;
  }>();
  expectTypeOf(row).toEqualTypeOf<RowOf<Thing>>();
  expect(toEntity(row)).toEqual({ id: 'a', lastUsedAt: undefined, isOwner: 1, tags: '["x"]' });
  expectTypeOf(toEntity(row).lastUsedAt).toEqualTypeOf<string | undefined>();
  expect(toChanges({ lastUsedAt: undefined, isOwner: false })).toEqual({ is_owner: 0 });
});
