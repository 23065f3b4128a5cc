import type { SealingCurve } from '@svault/shared/sealed';

/** What `@svault/shared/sealed` has, which takes longer to load than `--help` should wait; a test compares the two. */
export const SEALING_CURVES = ['P-256', 'P-384', 'X25519'] as const satisfies readonly SealingCurve[];
