import { authorityOf, signedPath } from '@svault/shared';
import type { Check } from '../../check/check.ts';
import { variantsAtOnce } from '../../check/each-variant.ts';
import { expectThat } from '../../check/expect.ts';
import { NotTestable } from '../../check/outcome.ts';
import type { Component } from '../../forge/signature.ts';
import type { RequestToSend } from '../../http/client.ts';
import type { Target } from '../../target.ts';
import type { Tools } from '../../check/tools.ts';
import { atEachEndpoint, HEALTH, refusesSignatures, type Place } from './signed-requests.ts';

const OTHER = 'another.example';

const method = ({ covered }: Place, value: string): { readonly components: readonly Component[] } => ({
  components: [{ written: '"@method"', value }, ...covered.filter((each) => each !== '@method')],
});

/** Authorities that are not the webhook's, though some read them for it. */
function likeAuthority(target: Target): Readonly<Record<string, { readonly authority: string }>> {
  const { protocol, hostname, port } = new URL(target.webhookUrl);
  const right = authorityOf(target.webhookUrl);
  const capitals = right.toUpperCase();
  const ofScheme = protocol === 'https:' ? 443 : 80;
  return {
    'of another host': { authority: OTHER },
    'of a host that begins like it': { authority: `${hostname}.another.example${port && `:${port}`}` },
    ...(port === ''
      ? { 'with the default port': { authority: `${right}:${ofScheme}` } }
      : { 'without its port': { authority: hostname } }),
    'with another port': { authority: `${hostname}:1` },
    ...(capitals !== right && { 'in capitals': { authority: capitals } }),
    empty: { authority: '' },
  };
}

/** The same request, rightly signed, sent to another spelling of its path. */
function respelled(tools: Tools): Readonly<Record<string, RequestToSend>> {
  const sent = (path: string): RequestToSend => ({ ...tools.sign(HEALTH), path });
  return {
    'a character percent-encoded': sent('/v1/%68ealth'),
    'a slash at the end': sent('/v1/health/'),
    'a slash twice': sent('/v1//health'),
    'in capitals': sent('/V1/HEALTH'),
    'with a detour': sent('/v1/storage/../health'),
  };
}

/** Protocol section 3.1: what a signature says of where the request goes. */
export const SIGNATURE_TARGET_CHECKS: readonly Check[] = [
  refusesSignatures(
    {
      id: 'signature.tampered-method-path',
      title: 'a signature for one endpoint is refused at another',
      requirements: ['SIG-15', 'SIG-45'],
    },
    ({ path, sign, target }) => {
      const other = path === '/v1/health' ? '/v1/storage' : '/v1/health';
      return {
        'sent to another endpoint': { ...sign({}, { path: other }), path },
        'signed for another endpoint': { path: signedPath(target.webhookUrl, other) },
      };
    },
  ),
  refusesSignatures(
    {
      id: 'signature.other-method',
      title: 'a signature for another method is refused',
      requirements: ['SIG-45'],
    },
    (place) => ({ PUT: method(place, 'PUT'), 'post, in small letters': method(place, 'post') }),
  ),
  refusesSignatures(
    {
      id: 'signature.other-path',
      title: 'a signature over another spelling of the path is refused',
      requirements: ['SIG-15', 'SIG-16'],
    },
    ({ path, target: { webhookUrl } }) => {
      const prefix = signedPath(webhookUrl, '');
      return {
        'with a slash at the end': { path: signedPath(webhookUrl, `${path}/`) },
        'with a character percent-encoded': { path: signedPath(webhookUrl, path.replace('v1', '%761')) },
        'in capitals': { path: signedPath(webhookUrl, path.toUpperCase()) },
        'with another prefix': { path: `/prefix${signedPath(webhookUrl, path)}` },
        'as a whole URL': { path: webhookUrl + path },
        empty: { path: '' },
        ...(prefix !== '' && { 'without the path of the address': { path } }),
      };
    },
  ),
  {
    id: 'signature.path-as-sent',
    title: 'the path is verified as it was sent, with nothing decoded',
    requirements: ['SIG-15'],
    run: (tools) =>
      variantsAtOnce(respelled(tools), async (request) => {
        const answer = await tools.send(request);
        expectThat(answer.status >= 300, answer, 'no success: the signature is over another path');
      }),
  },
  refusesSignatures(
    {
      id: 'signature.other-authority',
      title: 'a signature made for another authority is refused',
      requirements: ['SIG-11', 'SIG-12'],
    },
    ({ target }) => likeAuthority(target),
  ),
  refusesSignatures(
    {
      id: 'signature.forwarded-host',
      title: 'no header of the request says what the authority is',
      requirements: ['SIG-12'],
    },
    ({ sign }) => {
      const said = (...headers: readonly (readonly [string, string])[]): RequestToSend =>
        sign({ authority: OTHER }, { headers });
      return {
        Host: said(['host', OTHER]),
        'X-Forwarded-Host': said(['x-forwarded-host', OTHER]),
        Forwarded: said(['forwarded', `host=${OTHER}`]),
      };
    },
  ),
  {
    id: 'signature.host-rewritten',
    title: 'a signature holds whatever Host says, since tunnels rewrite that',
    requirements: ['SIG-12'],
    run: async (tools) => {
      const headers = [['host', OTHER]] as const;
      const open = await tools.send({ method: 'GET', path: '/v1/health', headers });
      if (open.status !== 200)
        throw new NotTestable('something in front of the webhook answers to one Host only', open);
      await variantsAtOnce(atEachEndpoint(tools), async ({ sign, expectTaken }) =>
        expectTaken(await tools.send(sign({}, { headers }))),
      );
    },
  },
  refusesSignatures(
    {
      id: 'signature.with-query',
      title: 'a signed request with a query is refused',
      requirements: ['SIG-17', 'SIG-18'],
    },
    ({ path, sign }) => ({
      'signed with the query': sign({}, { path: `${path}?x=1` }),
      'signed without the query': sign({ query: '?' }, { path: `${path}?x=1` }),
    }),
  ),
  refusesSignatures(
    {
      id: 'signature.bare-query',
      title: 'a signed request whose target ends with a bare question mark is refused',
      requirements: ['SIG-62'],
    },
    ({ path, sign }) => ({ 'a bare ?': { ...sign(), path: `${path}?` } }),
  ),
  refusesSignatures(
    {
      id: 'signature.query-form',
      title: 'a base in which @query is not a lone question mark is refused',
      requirements: ['SIG-17'],
    },
    () => ({ 'an empty @query': { query: '' }, 'a query that was not sent': { query: '?x=1' } }),
  ),
];
