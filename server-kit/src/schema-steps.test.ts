import { describe, expect, it } from 'vitest';
import { type AppliedStep, NewerSchema, type Step, planSchema, toAppliedStep } from './schema-steps.ts';
import { VERSION } from './version.ts';

const expand = (id: number): Step => ({ id, name: `step ${id}`, phase: 'expand' });
const contract = (id: number, compatibleFrom: number): Step => ({
  ...{ id, name: `step ${id}` },
  ...{ phase: 'contract', compatibleFrom },
});
const row = (id: number, compatibleFrom: number | null, appliedBy: string | null = '9.8.7'): AppliedStep => ({
  ...{ id, name: `step ${id}`, compatibleFrom, appliedBy },
});
const ids = (steps: readonly { readonly id: number }[]): number[] => steps.map(({ id }) => id);

const KNOWN = [expand(1), expand(103), expand(12)];
const APPLIED = KNOWN.map(({ id }) => row(id, 0));

describe('planSchema', () => {
  it('lists pending steps in the order of their numbers', () => {
    expect(ids(planSchema('db', [], KNOWN).pending)).toEqual([1, 12, 103]);
    expect(ids(planSchema('db', [row(12, 0)], KNOWN).pending)).toEqual([1, 103]);
    expect(planSchema('db', APPLIED, KNOWN)).toEqual({ pending: [], unknown: [], keepsRunning: true });
  });

  it.each([
    ['an expand step', 0],
    ['a contract step that needs an earlier step of it', 12],
    ['a contract step that needs its newest step', 103],
  ])('an older program runs with %s that it does not know', (_what, compatibleFrom) => {
    expect(ids(planSchema('db', [...APPLIED, row(104, compatibleFrom)], KNOWN).unknown)).toEqual([104]);
  });

  it.each([
    ['a contract step that needs a step that it does not know', row(105, 104), /needs .* schema 104;/],
    ['a step of a program without the rule', row(105, null, null), /a newer svault.*needs .* schema 105;/],
  ])('an older program rejects %s', (_what, unknown, said) => {
    const plan = () => planSchema('db', [...APPLIED, row(104, 0), unknown], KNOWN);
    expect(plan).toThrow(NewerSchema);
    expect(plan).toThrow(said);
  });

  it('names the database, both versions and both steps where it rejects', () => {
    expect(() => planSchema('webhook.db', [row(104, 104)], KNOWN)).toThrow(
      `webhook.db has schema 104 (step 104), applied by svault 9.8.7, which needs a program that knows schema 104; this is svault ${VERSION}, which knows up to 103: run svault 9.8.7 or newer, or restore an older backup`,
    );
  });

  it('says whether running processes keep working: only without a contract step that needs more than is applied', () => {
    const keepsRunning = (...more: Step[]) => planSchema('db', APPLIED, [...KNOWN, ...more]).keepsRunning;
    expect(keepsRunning(expand(104), expand(105))).toBe(true);
    expect(keepsRunning(expand(104), contract(105, 103))).toBe(true);
    expect(keepsRunning(expand(104), contract(105, 104))).toBe(false);
  });
});

it('a row of a table without the later columns does not say what a program must know', () => {
  expect(toAppliedStep({ id: 1, name: 'a' })).toEqual({
    ...{ id: 1, name: 'a' },
    ...{ compatibleFrom: null, appliedBy: null },
  });
});
