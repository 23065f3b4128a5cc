import type { IncomingMessage } from 'node:http';
import type { Actor } from '../../core/actor.ts';
import { transactionAs } from '../../sign-in/current-actor.ts';
import type { Sessions } from '../../sign-in/sessions.ts';
import { refusal } from '../../core/errors.ts';
import type { Transaction, UnitOfWork } from '../../core/stores.ts';
import { readCookie } from '../http/cookies.ts';
import { comesFromOrigin, notOwnPage } from '../http/origin-check.ts';

/** What our own pages ask of a request that a browser sent. */
export interface PageSession {
  /** Who is signed in; no key of any kind counts here. */
  actor(req: IncomingMessage): Promise<Actor | undefined>;
  /** @throws AppError FORBIDDEN for a form that no page of ours sent */
  requireOwnPage(req: IncomingMessage): void;
  /** What a form changes, for whoever may still change it ({@link transactionAs}). */
  transactionAs(actor: Actor, whenLocked: 'answers' | 'refused'): Transaction;
}

export function createPageSession(options: {
  readonly sessions: Pick<Sessions, 'resolve'>;
  readonly unitOfWork: UnitOfWork;
  readonly cookieName: string;
  readonly ownOrigin: string;
}): PageSession {
  const { sessions, unitOfWork, cookieName, ownOrigin } = options;
  return {
    actor: async (req) => {
      const token = readCookie(req.headers.cookie, cookieName);
      return token === undefined ? undefined : sessions.resolve(token);
    },
    requireOwnPage: ({ headers }) => {
      const header = (name: string): string | undefined => {
        const value = headers[name];
        return Array.isArray(value) ? undefined : value;
      };
      if (!comesFromOrigin(header, ownOrigin)) throw notOwnPage();
    },
    transactionAs: (actor, whenLocked) => transactionAs(actor, { unitOfWork, whenLocked, gone: signedOut }),
  };
}

function signedOut(): never {
  throw refusal('UNAUTHENTICATED', 'You are not signed in any more.');
}
