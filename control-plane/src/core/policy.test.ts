import type { Id } from '@svault/shared';
import { expect, it } from 'vitest';
import { type Rule, type RuleSettings, withRuleIds } from './policy.ts';

const id = (text: string): Id<'rul'> => text as Id<'rul'>;
const use = (limit: number): RuleSettings => ({ type: 'max_usage', limit });
const approval: RuleSettings = { type: 'manual_approval' };

it('withRuleIds keeps the id of the n-th rule of a type, whatever its position and settings', () => {
  const before: Rule[] = [
    { id: id('rul_a'), ...use(1) },
    { id: id('rul_b'), ...approval },
    { id: id('rul_c'), ...use(2) },
  ];
  let made = 0;
  const after = withRuleIds([approval, use(7), use(8), use(9), approval], before, () => id(`rul_${++made}`));
  expect(after).toEqual([
    { id: 'rul_b', ...approval },
    { id: 'rul_a', ...use(7) },
    { id: 'rul_c', ...use(8) },
    { id: 'rul_1', ...use(9) },
    { id: 'rul_2', ...approval },
  ]);
});
