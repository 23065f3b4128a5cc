import type { Secret } from '@svault/shared';

/** Where the state is kept. */
export type DatabaseAddress =
  | { readonly kind: 'sqlite'; readonly path: string }
  /** The whole URL, since a password may stand in it. */
  | { readonly kind: 'postgres'; readonly url: Secret };
