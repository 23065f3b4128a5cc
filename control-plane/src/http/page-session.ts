import type { IncomingMessage } from 'node:http';
import type { Actor } from '../accounts/actor.ts';
import type { Sessions } from '../accounts/sessions.ts';
import { refusal } from '../errors.ts';
import { readCookie } from './cookies.ts';
import { comesFromOrigin } from './origin-check.ts';

/** What our own pages ask of a request that a browser sent. */
export interface PageSession {
  /** Who is signed in; no key of any kind counts here. */
  actor(req: IncomingMessage): Promise<Actor | undefined>;
  /** @throws AppError FORBIDDEN for a form that no page of ours sent */
  requireOwnPage(req: IncomingMessage): void;
}

export function createPageSession(options: {
  readonly sessions: Pick<Sessions, 'resolve'>;
  readonly cookieName: string;
  readonly ownOrigin: string;
}): PageSession {
  const { sessions, cookieName, ownOrigin } = options;
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
      if (!comesFromOrigin(header, ownOrigin))
        throw refusal('FORBIDDEN', 'This request does not come from a page of this service.');
    },
  };
}
