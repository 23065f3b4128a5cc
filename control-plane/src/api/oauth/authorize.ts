import { type Request, type Response, Router } from 'express';
import { pageHeaders } from '@svault/server-kit/security-headers';
import type { Clock } from '@svault/shared';
import {
  type Addressee,
  type RequestParameters,
  parametersOf,
} from '../../authorization-server/authorization-request.ts';
import { formTargetOf, redirectWith } from '../../authorization-server/redirect-uri.ts';
import { type PageOfError, pageAt, readFormBody, pageOfError, sendPage } from '../pages/page.ts';
import { SIGN_IN_PATH, signInPathFor } from '../pages/sign-in-page.ts';
import { localPath } from '../pages/return-to.ts';
import type { PageSession } from '../pages/page-session.ts';
import type { RouteLimits } from '../http/route-limits.ts';
import type { ClientDocuments } from '../../authorization-server/client-metadata-documents.ts';
import { noteClientAsked, noteClientUse } from '../../authorization-server/clients.ts';
import { issueCode } from '../../management/approve-oauth-client.ts';
import type { Stores } from '../../core/stores.ts';
import { requireUnlocked } from '../../core/vault.ts';
import { offeredAgents } from './offered-agents.ts';
import { consentPage, lockedPage, noAgentsPage } from './consent-page-html.ts';
import { OAUTH_PATHS, resourceOf } from './oauth-paths.ts';
import { errorPage, signInFirstPage } from './error-page-html.ts';
import { type ValidRequest, type Validation, createValidateRequest } from './validate-request.ts';

const PATH = OAUTH_PATHS.authorize;
/** The parameters of a request, which the page's form sends back. */
const PARAMETERS = [
  'response_type',
  'client_id',
  'redirect_uri',
  'state',
  'code_challenge',
  'code_challenge_method',
  'resource',
] as const;
/** Clients that are web pages open this one as a popup. */
const keepsOpener = true;

/**
 * The authorization endpoint (RFC 6749 section 3.1, OAuth 2.1) and its consent page: GET asks and changes nothing; POST comes
 * from the page's form only, and validates the whole request again.
 */
export function createAuthorizePage(options: {
  /** Public address without trailing slash: the issuer. */
  readonly baseUrl: string;
  readonly stores: Pick<Stores, 'agents' | 'grants' | 'oauthClients' | 'vaults'>;
  readonly documents: ClientDocuments;
  readonly limits: Pick<RouteLimits, 'countAddress'>;
  readonly pageSession: PageSession;
  readonly clock: Clock;
  readonly https: boolean;
}): Router {
  const { baseUrl, stores, limits, pageSession, clock, https } = options;
  const audience = resourceOf(baseUrl);
  const validate = createValidateRequest({ ...options, audience });

  /** RFC 6749 section 4.1.2, RFC 9207. */
  const answer = (
    res: Response,
    { redirectUri, state }: Addressee,
    what: Readonly<Record<string, string>>,
  ): void => {
    const parameters = { ...what, ...(state !== undefined && { state }), iss: baseUrl };
    res.redirect(303, redirectWith(redirectUri, parameters));
  };

  const answerWithoutAsking = (
    res: Response,
    outcome: Exclude<Validation, ValidRequest>,
    asked: URLSearchParams,
  ): void => {
    if (outcome.kind === 'invalid') return answer(res, outcome.to, { ...outcome.error });
    if (outcome.kind === 'unanswerable') return sendPage(res, 400, errorPage(outcome.reason, outcome.detail));
    // The whole query, so that the sign-in leads back to the same outcome.
    const path = localPath(`${PATH}?${asked.toString()}`);
    if (path === undefined) return sendPage(res, 403, signInFirstPage(SIGN_IN_PATH));
    res.redirect(303, signInPathFor(path));
  };

  const ask = async (
    res: Response,
    { actor, client, to }: ValidRequest,
    parameters: RequestParameters,
    failed?: { readonly message: string; readonly chosen: string },
  ): Promise<void> => {
    const offered = await offeredAgents(stores, actor.vaultId, clock);
    const account = await pageSession.emailOf(actor);
    const status = failed === undefined ? 200 : 422;
    if (offered.agents.length === 0) return sendPage(res, status, noAgentsPage(client, account));
    // `form-action` applies to the whole chain of redirects: to the client, and on from there over https.
    const formTargets = [formTargetOf(to.redirectUri), 'https:'];
    pageHeaders({ https, keepsOpener, formTargets })(res.req, res, () => undefined);
    const content = consentPage({
      client,
      redirectUri: to.redirectUri,
      account,
      ...offered,
      fields: fieldsOf(parameters),
      action: PATH,
      ...failed,
    });
    sendPage(res, status, content);
  };

  const show = async (req: Request, res: Response): Promise<void> => {
    await limits.countAddress('oauth_authorize', req);
    const query = new URLSearchParams(queryOf(req));
    const parameters = parametersOf(query);
    const outcome = await validate(req, parameters);
    if (outcome.kind !== 'valid') return answerWithoutAsking(res, outcome, query);
    await requireUnlocked(stores, outcome.actor.vaultId);
    await noteClientAsked(stores, outcome.client.id, clock);
    await ask(res, outcome, parameters);
  };

  const decide = async (req: Request, res: Response): Promise<void> => {
    pageSession.requireSameOrigin(req);
    // Validating may fetch a metadata document.
    await limits.countAddress('oauth_authorize', req, 'form');
    const form = await readFormBody(req);
    const parameters = parametersOf(Object.entries(form));
    const request = await validate(req, parameters);
    if (request.kind !== 'valid')
      return answerWithoutAsking(res, request, new URLSearchParams(fieldsOf(parameters)));
    const { actor, client, to, codeChallenge } = request;
    if (form['decision'] !== 'allow') return answer(res, to, DENIED);
    const choice = choiceOf(form);
    const { redirectUri } = to;
    const asker = { clientId: client.id, clientName: client.name, redirectUri, codeChallenge, audience };
    const transaction = pageSession.transactionAs(actor, 'denied');
    const outcome = await transaction(async (inside) => {
      const issued = await issueCode(inside, { ...choice, ...asker }, clock);
      if ('code' in issued) await noteClientUse(inside, client.id, clock);
      return issued;
    });
    if ('code' in outcome) return answer(res, to, { code: outcome.code });
    const chosen = choice.agentId;
    await ask(res, request, parameters, {
      message: WHY_NOT[chosen === '' ? 'none' : outcome.refused],
      chosen,
    });
  };

  return Router({ caseSensitive: true, strict: true })
    .use(PATH, pageHeaders({ https, keepsOpener }))
    .use(pageAt(PATH, { show, submit: decide }, { ofShow: refusedPage, ofSubmit: refusedPage }));
}

const queryOf = ({ url }: Request): string => (url.includes('?') ? url.slice(url.indexOf('?')) : '');

const fieldsOf = ({ get }: RequestParameters): [name: string, value: string][] =>
  PARAMETERS.flatMap((name) => {
    const value = get(name);
    return value === undefined ? [] : [[name, value]];
  });

/** The agent from the list, the menu or the text field, and whether the page said that allowing switches its MCP on. */
function choiceOf(form: Readonly<Record<string, string>>): { agentId: string; switchMcpOn: boolean } {
  const agentId = form['agent'] || (form['agent_id'] ?? '').trim();
  return { agentId, switchMcpOn: form[`mcp_${agentId}`] === 'on' || form['mcp'] === 'on' };
}

const DENIED = { error: 'access_denied', error_description: 'the person did not allow it' };

const WHY_NOT = {
  none: 'Choose an agent first.',
  no_such_agent: 'That agent is suspended, or not there any more. Choose another one.',
  mcp_is_off:
    'MCP was switched off for that agent in the meantime. Allow again to switch it on, or choose another one.',
} as const;

const refusedPage: PageOfError = (error) => (error.code === 'VAULT_LOCKED' ? lockedPage : pageOfError(error));
