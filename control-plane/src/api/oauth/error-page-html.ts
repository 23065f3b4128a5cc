import { safeHtml } from '@svault/server-kit/safe-html';
import type { Unanswerable } from '../../authorization-server/authorization-request.ts';
import type { PageContent } from '../pages/page.ts';
import type { DocumentProblem } from '../../authorization-server/client-metadata-documents.ts';

/** Why the error is shown to the user: the client's redirect URI is not known to be its own (RFC 6749 section 4.1.2.1). */
export type PageReason = Unanswerable | DocumentProblem | 'unknown_client' | 'foreign_redirect';

const MESSAGES: Readonly<Record<PageReason, string>> = {
  repeated: 'It said something twice.',
  no_client_id: 'It did not say which program it is (client_id).',
  no_redirect_uri: 'It did not say where the answer goes (redirect_uri).',
  malformed_state: 'Its state is too long, or has characters that cannot be given back.',
  unknown_client:
    'This service does not know it (client_id). It may have been forgotten, not having been used for long: let it register again, by signing out there or removing what it has kept of this service.',
  foreign_redirect: 'The answer would go where it did not say before that it may go (redirect_uri).',
  unreachable: 'The document that describes it (client_id) could not be fetched.',
  no_document:
    'There is no document at the address that describes it (client_id); redirects are not followed.',
  not_json: 'What is at the address that describes it (client_id) is no JSON document.',
  foreign_id: 'The document at its address describes another program (client_id).',
  secret:
    'The document that describes it names a secret or a way to sign in with one, and everybody can read it.',
  unusable: 'The document that describes it names no redirect URI or flow that this service takes.',
};

/** @param detail the parameter's value, as the request sent it */
export const errorPage = (reason: PageReason, detail?: string): PageContent => ({
  name: 'consent-unanswerable',
  title: 'This program cannot be let in',
  body: safeHtml`<p>A program asked for access in a way that cannot be answered.</p>
<p>${MESSAGES[reason]}</p>
${detail === undefined ? undefined : safeHtml`<p class="value">${detail}</p>`}
<p class="dim">Nothing was changed, and nothing was sent anywhere.</p>`,
  next: safeHtml`<p>Start over in the program. If you did not start this yourself, close this page.</p>`,
});

/** For a request that is too long to be kept during a sign-in. */
export const signInFirstPage = (signInPath: string): PageContent => ({
  name: 'consent-sign-in-first',
  title: 'Sign in first',
  body: safeHtml`<p>A program asks for access, and you are not signed in.</p>`,
  next: safeHtml`<p><a href="${signInPath}">Sign in</a>, then load this page again or start over in the program.</p>`,
});
