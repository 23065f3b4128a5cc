import type { ContextStore } from '../contexts/context-store.ts';

/** Where somebody wants to sign in, and what the login is to be called. */
export interface WantedLogin {
  readonly store: ContextStore;
  readonly baseUrl: string;
  /** Undefined: a name is made. */
  readonly wantedName: string | undefined;
}
