import type { HeaderPairs } from '@svault/shared';
import type { Check } from '../../check/check.ts';
import { expectOk, expectRefusal, expectThat } from '../../check/expect.ts';
import type { Answer } from '../../http/client.ts';
import type { Tools } from '../../check/tools.ts';

const text = { tokenType: 'PlainText', value: 'canary of a page' };
const ACROSS: HeaderPairs = [
  ['access-control-request-method', 'POST'],
  ['access-control-request-headers', 'authorization,content-type'],
];

const ourOrigin = ({ target }: Tools): string => new URL(target.serviceUrl).origin;

/** Origins that somebody may take for the service's. */
function otherOrigins(tools: Tools): readonly (readonly [what: string, origin: string])[] {
  const { protocol, host, hostname } = new URL(tools.target.serviceUrl);
  return [
    ['another site', 'https://another.example'],
    ['an opaque origin', 'null'],
    ['the other scheme', `${protocol === 'https:' ? 'http' : 'https'}://${host}`],
    ['another port', `${protocol}//${hostname}:4711`],
    ['a name that ends as ours', `${protocol}//not-${host}`],
    ['a name that begins as ours', `${protocol}//${host}.another.example`],
  ];
}

/** The members of every header of this name, in lower case. */
function listed(answer: Answer, name: string): readonly string[] {
  return answer.headers
    .filter(([each]) => each === name)
    .flatMap(([, value]) => value.split(','))
    .map((each) => each.trim().toLowerCase())
    .filter((each) => each !== '');
}

function expectNoCors(answer: Answer, what: string): void {
  const found = answer.headers.find(([name]) => name.startsWith('access-control-'));
  expectThat(found === undefined, answer, `no Access-Control header for ${what}`);
}

function expectOurs(answer: Answer, origin: string, what: string): void {
  const allowed = answer.headers.filter(([name]) => name === 'access-control-allow-origin');
  expectThat(
    allowed.length === 1 && allowed[0]?.[1] === origin,
    answer,
    `Access-Control-Allow-Origin: ${origin} with ${what}`,
  );
  expectThat(listed(answer, 'vary').includes('origin'), answer, `Vary: Origin with ${what}`);
}

const preflight = (tools: Tools, origin: string): Promise<Answer> =>
  tools.send({ method: 'OPTIONS', path: '/v1/store', headers: [['origin', origin], ...ACROSS] });

/** A store as a browser sends it. */
function post(tools: Tools, ticket: string | undefined, body: object, headers: HeaderPairs): Promise<Answer> {
  const bearer: HeaderPairs = ticket === undefined ? [] : [['authorization', `Bearer ${ticket}`]];
  return tools.send({
    method: 'POST',
    path: '/v1/store',
    headers: [...headers, ...bearer, ['content-type', 'application/json']],
    body: JSON.stringify(body),
  });
}

/** Protocol section 5.5, what pages in a browser may do. */
export const CORS_CHECKS: readonly Check[] = [
  {
    id: 'cors.preflight',
    title: 'a page of the service’s origin may post, with two headers',
    requirements: ['SAV-21'],
    claims: ['store'],
    run: async (tools) => {
      const origin = ourOrigin(tools);
      const answer = await preflight(tools, origin);
      expectThat(answer.status === 204, answer, '204');
      expectOurs(answer, origin, 'a preflight');
      const methods = listed(answer, 'access-control-allow-methods').filter((each) => each !== 'options');
      expectThat(
        methods.length > 0 && methods.every((each) => each === 'post'),
        answer,
        'Access-Control-Allow-Methods: POST',
      );
      const headers = listed(answer, 'access-control-allow-headers');
      expectThat(
        ['authorization', 'content-type'].every((each) => headers.includes(each)) && headers.length === 2,
        answer,
        'Access-Control-Allow-Headers: authorization, content-type',
      );
    },
  },
  {
    id: 'cors.preflight-of-another',
    title: 'a preflight of another origin is refused, without CORS headers',
    requirements: ['SAV-23'],
    claims: ['store'],
    run: async (tools) => {
      for (const [what, origin] of otherOrigins(tools)) {
        const answer = await preflight(tools, origin);
        expectRefusal(answer, 'ORIGIN_NOT_ALLOWED', what);
        expectNoCors(answer, what);
      }
    },
  },
  {
    id: 'cors.answers',
    title: 'a page of the service’s origin can read every answer, refusals too',
    requirements: ['SAV-22'],
    claims: ['store'],
    run: async (tools) => {
      const origin = ourOrigin(tools);
      const name = tools.freshName();
      const from: HeaderPairs = [['origin', origin]];
      const send = (body: object, claims: object = {}): Promise<Answer> =>
        post(tools, tools.ticket('store', name, { claims: { ...claims } }), body, from);
      const stored = await send(text);
      expectOk(stored);
      expectOurs(stored, origin, 'a 200');
      const conflict = await send(text, { ifv: 0 });
      expectRefusal(conflict, 'VERSION_CONFLICT');
      expectOurs(conflict, origin, 'a 409');
      const wrong = await send({ tokenType: 'PlainText' });
      expectRefusal(wrong, 'INVALID_REQUEST');
      expectOurs(wrong, origin, 'a 400');
      const unknown = await post(tools, undefined, text, from);
      expectRefusal(unknown, 'TICKET_INVALID');
      expectOurs(unknown, origin, 'a 401');
    },
  },
  {
    id: 'cors.another-origin',
    title: 'a page of another origin is refused, without CORS headers, and nothing is stored',
    requirements: ['SAV-23'],
    claims: ['store', 'storage'],
    run: async (tools) => {
      const serviceName = tools.freshName();
      for (const [what, origin] of otherOrigins(tools)) {
        const answer = await post(tools, tools.ticket('store', serviceName), text, [['origin', origin]]);
        expectRefusal(answer, 'ORIGIN_NOT_ALLOWED', what);
        expectNoCors(answer, what);
      }
      expectRefusal(await tools.storage({ op: 'tokens.get', serviceName }), 'NOT_FOUND');
    },
  },
  {
    id: 'cors.another-origin-uses-nothing-up',
    title: 'a page of another origin does not use the ticket up',
    requirements: ['SAV-24'],
    claims: ['store'],
    run: async (tools) => {
      const name = tools.freshName();
      for (const origin of ['https://another.example', 'null']) {
        const ticket = tools.ticket('store', name);
        expectRefusal(await post(tools, ticket, text, [['origin', origin]]), 'ORIGIN_NOT_ALLOWED');
        expectOk(await post(tools, ticket, text, [['origin', ourOrigin(tools)]]));
      }
    },
  },
  {
    id: 'cors.no-origin',
    title: 'a program that names no origin may store, whatever else it says about itself',
    requirements: ['SAV-25'],
    claims: ['store'],
    run: async (tools) => {
      for (const beside of [[], [['referer', 'https://another.example/page']]] as readonly HeaderPairs[]) {
        const answer = await post(tools, tools.ticket('store', tools.freshName()), text, beside);
        expectOk(answer);
      }
    },
  },
];
