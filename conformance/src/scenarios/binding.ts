import type { BindingCheck } from '../check.ts';

export const BINDING_CHECKS: readonly BindingCheck[] = [];
