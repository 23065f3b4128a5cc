import { CheckSkipped } from '../../check/outcome.ts';
import type { Check } from '../../check/check.ts';
import { variantsAtOnce } from '../../check/each-variant.ts';
import { expectOk, expectRefusal } from '../../check/expect.ts';
import type { Answer } from '../../http/client.ts';

import type { Tools } from '../../check/tools.ts';

import { atEachEndpoint, hasBody, type Endpoint, type Place } from '../signatures/signed-requests.ts';
import { LIST, storeBytes } from './raw-bodies.ts';

/** Protocol section 2: the most that a body may hold, except at `/v1/proxy`. */
const MAX_BODY_BYTES = 1024 * 1024;
const MAX_EXCHANGE_BYTES = 1024;
const MAX_APPROVAL_BYTES = 64 * 1024;

/** A signed operation in a body of `Transfer-Encoding: chunked`. */
const inChunks = (tools: Tools, body: string | Uint8Array): Promise<Answer> => {
  const request = tools.sign({ method: 'POST', path: '/v1/storage', body });
  return tools.send({ ...request, headers: [...(request.headers ?? []), ['transfer-encoding', 'chunked']] });
};

/** A body of exactly so many bytes. */
function ofSize(start: string, end: string, bytes: number): string {
  return start + 'x'.repeat(bytes - start.length - end.length) + end;
}

/** Protocol section 2: which content types and sizes a body may have. */
export const BODY_CHECKS: readonly Check[] = [
  {
    id: 'body.content-type',
    title: 'a signed body of another type than application/json is answered with 400, at each endpoint',
    requirements: ['TRN-17'],
    run: (tools) =>
      variantsAtOnce(
        atEachJson(tools, {
          'text/plain': 'text/plain',
          'text/json': 'text/json',
          'application/x-www-form-urlencoded': 'application/x-www-form-urlencoded',
          'application/json5': 'application/json5',
          'application/problem+json': 'application/problem+json',
          'another one that names it': 'text/plain;x="application/json"',
        }),
        async ([place, contentType]) =>
          expectRefusal(await tools.send(place.sign({ contentType })), 'INVALID_REQUEST'),
      ),
  },
  {
    id: 'body.content-type-at-store',
    title: 'a body of another type than application/json is answered with 400 at /v1/store, and not stored',
    requirements: ['TRN-17'],
    claims: ['store'],
    run: async (tools) => {
      const name = tools.freshName();
      const body = '{"tokenType":"PlainText","value":"canary"}';
      // What a page of another origin may send without asking.
      for (const type of ['text/plain', 'application/x-www-form-urlencoded'])
        expectRefusal(await storeBytes(tools, name, body, type), 'INVALID_REQUEST', type);
      // A ticket for a record that is not there yet: nothing was stored so far.
      expectOk(await tools.store(name, body, { claims: { ifv: 0 } }));
    },
  },
  {
    id: 'body.content-type-parameters',
    title: 'application/json is accepted with and without parameters, at each endpoint',
    requirements: ['TRN-17'],
    run: (tools) =>
      variantsAtOnce(
        atEachJson(tools, {
          'with a charset': 'application/json;charset=utf-8',
          'with a charset behind a space': 'application/json; charset=UTF-8',
          'with another parameter': 'application/json; profile="x"',
        }),
        async ([place, contentType]) => place.expectTaken(await tools.send(place.sign({ contentType }))),
      ),
  },
  {
    id: 'body.largest',
    title:
      'a signed body of 1 MiB is accepted, one of 1 KiB at /v1/exchange, and one of 64 KiB for approvals',
    requirements: ['TRN-20'],
    run: (tools) =>
      variantsAtOnce(atEachEndpoint(tools, isJson), async (place) =>
        place.expectTaken(await ofBytes(place, mostAt(place))),
      ),
  },
  {
    id: 'body.too-large',
    title:
      'a signed body of more than 1 MiB is answered with 413, of more than 1 KiB at /v1/exchange, and of 64 KiB for approvals',
    requirements: ['TRN-19', 'SIG-57'],
    run: (tools) =>
      variantsAtOnce(atEachEndpoint(tools, isJson), async (place) =>
        expectRefusal(await ofBytes(place, mostAt(place) + 1), 'TOO_LARGE'),
      ),
  },
  {
    id: 'body.too-large-in-chunks',
    title: 'a body of more than 1 MiB that does not say its length is answered with 413',
    requirements: ['TRN-19'],
    claims: ['storage'],
    run: async (tools) => {
      if ((await inChunks(tools, `{${LIST}}`)).status !== 200)
        throw new CheckSkipped('the webhook takes no body that does not say its length');
      const large = ofSize(`{${LIST},"x":"`, '"}', MAX_BODY_BYTES + 1);
      expectRefusal(await inChunks(tools, large), 'TOO_LARGE');
    },
  },
  {
    id: 'body.too-large-at-store',
    title: 'a body of more than 1 MiB is answered with 413 at /v1/store, and nothing is stored',
    requirements: ['TRN-19'],
    claims: ['store'],
    run: async (tools) => {
      const name = tools.freshName();
      const [start, end] = ['{"tokenType":"PlainText","value":"canary"', '}'];
      const large = start + ' '.repeat(MAX_BODY_BYTES + 1 - start.length - end.length) + end;
      expectRefusal(await tools.store(name, large), 'TOO_LARGE');
      expectOk(await tools.store(name, start + end, { claims: { ifv: 0 } }));
    },
  },
];

/** Endpoints whose bodies the webhook reads itself. */
const isJson = (endpoint: Endpoint): boolean => hasBody(endpoint) && endpoint.path !== '/v1/proxy';

function mostAt({ path }: Place): number {
  if (path.startsWith('/v1/approvals')) return MAX_APPROVAL_BYTES;
  return path === '/v1/exchange' ? MAX_EXCHANGE_BYTES : MAX_BODY_BYTES;
}

/** The right body of a place with a member more that makes it so long. */
function ofBytes({ tools, request }: Place, bytes: number): Promise<Answer> {
  const right = request();
  const start = right.body.slice(0, -1) + (right.body === '{}' ? '' : ',');
  return tools.signed({ ...right, body: ofSize(`${start}"x":"`, '"}', bytes) });
}

/** Each of these at each endpoint that answers a right body with something else than 400. */
function atEachJson(
  tools: Tools,
  types: Readonly<Record<string, string>>,
): Readonly<Record<string, readonly [place: Place, type: string]>> {
  const places = atEachEndpoint(tools, (each) => isJson(each) && each.taken !== 'INVALID_REQUEST');
  return Object.fromEntries(
    Object.entries(places).flatMap(([name, place]) =>
      Object.entries(types).map(([what, type]) => [`${what}, at ${name}`, [place, type] as const]),
    ),
  );
}
