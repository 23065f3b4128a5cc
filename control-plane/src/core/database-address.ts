import type { Secret } from '@svault/shared';

export type DatabaseAddress =
  | { readonly kind: 'sqlite'; readonly path: string }
  /** The whole URL is secret, since it may have a password. */
  | { readonly kind: 'postgres'; readonly url: Secret };
