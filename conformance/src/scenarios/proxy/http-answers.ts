import type { Check } from '../../check/check.ts';
import { expectRefusal, expectThat } from '../../check/expect.ts';
import type { Answer } from '../../http/client.ts';
import { header, text } from '../../http/read-answer.ts';
import { expectCalled, openElsewhere, setUpApi } from '../../upstream/api-setup.ts';
import { storeTextOf } from '../../upstream/proxy-setup.ts';
import type { UpstreamAnswer } from '../../upstream/upstream.ts';

const CLAIMS = ['storage', 'store', 'proxy', 'http-proxy'] as const;
const FOLLOW = { redirects: 'follow-without-credential' } as const;

const VALIDATORS = {
  etag: 'W/"5f1c"',
  'last-modified': 'Thu, 01 Jan 2026 00:00:00 GMT',
  vary: 'accept, authorization',
  'accept-ranges': 'bytes',
};

/** Addresses that the agent would resolve against the base. */
const NAMES_THERE = { location: '/b', 'content-location': '/file', link: '</2>; rel="next"' };
/** Names that resemble those. */
const OTHERS_THERE = { 'x-there': 'yes', 'x-location': 'there', links: '2' };

const redirectTo =
  (location: string, status = 302): UpstreamAnswer =>
  (response) =>
    response.writeHead(status, { location, 'content-type': 'text/plain' }).end('elsewhere');

/** Protocol section 5.8: answers and redirects of an HTTP API. */
export const HTTP_ANSWER_CHECKS: readonly Check[] = [
  {
    id: 'http-proxy.head',
    title: 'the answer to HEAD has no body, and the content-length of the upstream in sv-content-length',
    requirements: ['HTP-28'],
    claims: CLAIMS,
    run: async (tools) => {
      const api = await setUpApi(tools);
      for (const length of ['1234', '0']) {
        api.place.answerWith((response) =>
          response.writeHead(200, { 'content-length': length, etag: '"1"' }).end(),
        );
        const { answer } = await expectCalled(api, '/a', { method: 'HEAD' });
        expectThat(answer.status === 200 && answer.body.byteLength === 0, answer, '200 without a body');
        const said = header(answer, 'sv-content-length');
        expectThat(said === length, answer, `"sv-content-length: ${length}"`);
        expectThat(header(answer, 'etag') === '"1"', answer, 'the other headers of the upstream');
      }
      api.place.answerWith((response) => response.writeHead(200).end());
      const { answer } = await expectCalled(api, '/a', { method: 'HEAD' });
      const said = header(answer, 'sv-content-length');
      expectThat(said === undefined, answer, 'no "sv-content-length" where the upstream says no length');
    },
  },
  {
    id: 'http-proxy.forged-length',
    title: 'an sv-content-length of the upstream does not come back',
    requirements: ['HTP-28', 'PRX-25'],
    claims: CLAIMS,
    run: async (tools) => {
      const api = await setUpApi(tools, {
        answer: (response) => response.writeHead(200, { 'sv-content-length': '7' }).end('{}'),
      });
      const { answer } = await expectCalled(api, '/a');
      expectThat(header(answer, 'sv-content-length') === undefined, answer, 'no "sv-content-length"');
    },
  },
  {
    id: 'http-proxy.without-body',
    title: 'answers 204 and 304 come back without a body, with their validators',
    requirements: ['PRX-27', 'PRX-25'],
    claims: CLAIMS,
    run: async (tools) => {
      const api = await setUpApi(tools);
      for (const status of [204, 304]) {
        api.place.answerWith((response) => response.writeHead(status, VALIDATORS).end());
        const { answer } = await expectCalled(api, '/a', { headers: [['if-none-match', 'W/"5f1c"']] });
        expectThat(answer.status === status && answer.body.byteLength === 0, answer, `${status} and no body`);
        expectValidators(answer);
      }
    },
  },
  {
    id: 'http-proxy.ranges',
    title: 'ranges and validators come back as the upstream gives them',
    requirements: ['PRX-24', 'PRX-25', 'PRX-27'],
    claims: CLAIMS,
    run: async (tools) => {
      const api = await setUpApi(tools);
      for (const [status, range, body] of [
        [206, 'bytes 2-5/10', 'cdef'],
        [416, 'bytes */10', ''],
      ] as const) {
        const fields = { ...VALIDATORS, 'content-range': range, 'content-length': body.length };
        api.place.answerWith((response) => response.writeHead(status, fields).end(body));
        const { answer } = await expectCalled(api, '/a', { headers: [['range', 'bytes=2-5']] });
        expectThat(answer.status === status && text(answer) === body, answer, `${status} with its range`);
        expectThat(header(answer, 'content-range') === range, answer, `"content-range: ${range}"`);
        expectValidators(answer);
      }
    },
  },
  {
    id: 'http-proxy.informational',
    title: 'an interim answer (103) is not taken for the final one',
    requirements: ['HTP-29'],
    claims: CLAIMS,
    run: async (tools) => {
      const api = await setUpApi(tools, {
        answer: (response) => {
          response.writeEarlyHints({ link: '</style.css>; rel=preload' });
          response.writeHead(201, { 'content-type': 'text/plain' }).end('made');
        },
      });
      const { answer } = await expectCalled(api, '/a', { method: 'PUT', body: 'x' });
      expectThat(answer.status === 201 && text(answer) === 'made', answer, '201 with the body "made"');
    },
  },
  {
    id: 'http-proxy.redirect',
    title: 'a redirect is handed back and not followed, whatever its target',
    requirements: ['PRX-23'],
    claims: CLAIMS,
    run: async (tools) => {
      const elsewhere = await openElsewhere(tools);
      const api = await setUpApi(tools);
      for (const location of [elsewhere.url, `${api.place.url}/b`, '/c', '?d'])
        for (const status of [301, 307]) {
          const before = api.place.calls.length;
          api.place.answerWith(redirectTo(location, status));
          const { answer } = await expectCalled(api, '/a');
          expectThat(answer.status === status, answer, `${status} of the upstream`);
          expectThat(header(answer, 'location') === location, answer, `"location: ${location}"`);
          expectThat(api.place.calls.length === before + 1, answer, 'one call');
          expectThat(elsewhere.calls.length === 0, answer, 'no call of where it leads');
        }
    },
  },
  {
    id: 'http-proxy.redirect-followed',
    title:
      'a redirect of GET or HEAD to another origin is followed, without any header of the call, where the proxy says so',
    requirements: ['HTP-30', 'HTP-31', 'HTP-34'],
    claims: CLAIMS,
    run: async (tools) => {
      const elsewhere = await openElsewhere(tools, (response) =>
        response
          .writeHead(200, { ...NAMES_THERE, ...OTHERS_THERE, 'content-type': 'text/plain' })
          .end('the file'),
      );
      const queryTemplates = { key: '${TOKEN}' };
      const api = await setUpApi(tools, { ...FOLLOW, queryTemplates });
      const headers = [
        ['user-agent', 'the agent'],
        ['x-custom', 'the agent'],
        ['range', 'bytes=0-'],
      ] as const;
      for (const method of ['GET', 'HEAD'])
        for (const status of [300, 301, 302, 303, 307, 308]) {
          const before = elsewhere.calls.length;
          api.place.answerWith(redirectTo(`${elsewhere.url}/file?signed=%27x%27&a=%2F`, status));
          const { answer } = await expectCalled(api, '/a', { method, headers });
          const hop = elsewhere.calls[before];
          expectThat(hop !== undefined, answer, `a call of where ${status} leads, with ${method}`);
          const isSame = hop.method === method && hop.rest === '/file?signed=%27x%27&a=%2F';
          expectThat(isSame, answer, `${method} of the target of ${status}`);
          const known = ['host', 'accept-encoding', 'connection', 'content-length'];
          const stray = hop.headers.find(([name]) => !known.includes(name));
          expectThat(stray === undefined, answer, `no "${stray?.[0]}" where ${status} leads`);
          expectThat(answer.status === 200, answer, `the answer of where ${status} leads`);
          for (const [name, value] of Object.entries(OTHERS_THERE))
            expectThat(
              header(answer, name) === value,
              answer,
              `"${name}: ${value}" of where ${status} leads`,
            );
          const named = Object.keys(NAMES_THERE).find((name) => header(answer, name) !== undefined);
          expectThat(named === undefined, answer, `no "${named}" of where ${status} leads`);
          const body = method === 'HEAD' ? '' : 'the file';
          expectThat(text(answer) === body, answer, `the body ${JSON.stringify(body)}`);
        }
    },
  },
  {
    id: 'http-proxy.redirect-not-followed',
    title: 'a redirect of another method, or to the origin of the upstream, is still handed back',
    requirements: ['HTP-30'],
    claims: CLAIMS,
    run: async (tools) => {
      const elsewhere = await openElsewhere(tools);
      const api = await setUpApi(tools, FOLLOW);
      for (const [method, location] of [
        ['POST', elsewhere.url],
        ['PUT', elsewhere.url],
        ['DELETE', elsewhere.url],
        ['GET', `${api.place.url}/b`],
        ['GET', '/elsewhere'],
      ] as const) {
        api.place.answerWith(redirectTo(location));
        const { answer } = await expectCalled(api, '/a', { method });
        const isBack = answer.status === 302 && header(answer, 'location') === location;
        expectThat(isBack, answer, `302 handed back, for ${method}`);
        expectThat(elsewhere.calls.length === 0, answer, `no call of where it leads, for ${method}`);
      }
      api.place.answerWith(redirectTo(elsewhere.url));
      const withBody = await expectCalled(api, '/a', { body: 'a body' });
      expectThat(elsewhere.calls.length === 0, withBody.answer, 'no call of where a GET with a body leads');
      api.place.answerWith((response) => response.writeHead(304, { location: elsewhere.url }).end());
      const { answer } = await expectCalled(api, '/a');
      expectThat(answer.status === 304 && elsewhere.calls.length === 0, answer, '304, which is no redirect');
    },
  },
  {
    id: 'http-proxy.redirect-hops',
    title: 'three redirects are followed, a fourth is answered with 502 UPSTREAM_ERROR',
    requirements: ['HTP-32', 'HTP-33'],
    claims: CLAIMS,
    run: async (tools) => {
      const elsewhere = await openElsewhere(tools);
      const api = await setUpApi(tools, { ...FOLLOW, answer: redirectTo(`${elsewhere.url}/1`) });
      const leadsOn = (most: number): UpstreamAnswer => {
        return (response, { rest }) => {
          const at = Number(rest.slice(1));
          if (at >= most) response.writeHead(200).end('there');
          else response.writeHead(302, { location: `${elsewhere.url}/${at + 1}` }).end();
        };
      };
      elsewhere.answerWith(leadsOn(3));
      const { answer } = await expectCalled(api, '/a');
      expectThat(answer.status === 200 && text(answer) === 'there', answer, 'the answer of the third');
      const before = elsewhere.calls.length;
      elsewhere.answerWith(leadsOn(9));
      const many = await api.call('/a');
      expectThat(elsewhere.calls.length === before + 3, many, 'three calls and no fourth');
      expectRefusal(many, 'UPSTREAM_ERROR', 'a fourth redirect');
    },
  },
  {
    id: 'http-proxy.redirect-address',
    title: 'a redirect to an address that section 6 refuses is answered with 502 UPSTREAM_ERROR',
    requirements: ['HTP-32', 'HTP-33'],
    claims: CLAIMS,
    run: async (tools) => {
      const elsewhere = await openElsewhere(tools);
      const { port, pathname } = new URL(elsewhere.url);
      const api = await setUpApi(tools, FOLLOW);
      // They lead back to the suite where a webhook does not check them.
      for (const host of ['0.0.0.0', '0', '[::]']) {
        const location = `http://${host}:${port}${pathname}`;
        api.place.answerWith(redirectTo(location));
        const answer = await api.call('/a');
        expectThat(elsewhere.calls.length === 0, answer, `no call of ${location}`);
        expectRefusal(answer, 'UPSTREAM_ERROR', `a redirect to ${location}`);
      }
    },
  },
  {
    id: 'http-proxy.redirect-elsewhere',
    title: 'a redirect to https, or to another port of the same host, is one to another origin',
    requirements: ['HTP-30', 'HTP-32'],
    claims: CLAIMS,
    run: async (tools) => {
      const elsewhere = await openElsewhere(tools);
      const api = await setUpApi(tools, FOLLOW);
      const other = await (await tools.given.upstream()).other();
      const before = other.malformed.length;
      api.place.answerWith(redirectTo(elsewhere.url.replace('http:', 'https:')));
      const answer = await api.call('/a');
      // The suite speaks no TLS: to it the handshake is a malformed request.
      expectThat(other.malformed.length > before, answer, 'a TLS handshake where the redirect leads');
      expectRefusal(answer, 'UPSTREAM_ERROR', 'a redirect to a server without TLS');
      // Nothing listens on this port, which begins like the upstream's.
      const { hostname, port } = new URL(api.place.url);
      api.place.answerWith(redirectTo(`http://${hostname}:${port.slice(0, 1)}/`));
      const beside = await api.call('/a');
      expectThat(beside.status !== 302, beside, 'no redirect handed back that leads to another port');
    },
  },
  {
    id: 'http-proxy.redirect-in-vain',
    title:
      'a redirect to a server that does not answer, or asks for a credential, is answered with 502 UPSTREAM_ERROR',
    requirements: ['HTP-33'],
    claims: CLAIMS,
    run: async (tools) => {
      const elsewhere = await openElsewhere(tools);
      const api = await setUpApi(tools, { ...FOLLOW, answer: redirectTo(elsewhere.url) });
      for (const [what, answerWith] of [
        ['a server that hangs up', (response) => response.destroy()],
        ['a 407', (response) => response.writeHead(407).end('who?')],
        ['a 401', (response) => response.writeHead(401, { 'www-authenticate': 'Basic' }).end('who?')],
      ] satisfies ReadonlyArray<readonly [string, UpstreamAnswer]>) {
        elsewhere.answerWith(answerWith);
        const answer = await api.call('/a');
        expectRefusal(answer, 'UPSTREAM_ERROR', `a redirect to ${what}`);
        expectThat(header(answer, 'sv-proxy-origin') === 'webhook', answer, 'a refusal of the webhook');
      }
    },
  },
  {
    id: 'http-proxy.short-secret-in-query',
    title: 'where a short secret is in the query, location neither comes back nor is followed',
    requirements: ['HTP-37', 'HTP-30'],
    claims: CLAIMS,
    run: async (tools) => {
      const { allowedHost } = await tools.given.upstream();
      const elsewhere = await openElsewhere(tools);
      const settings = { allowedHosts: [allowedHost], allowedQuery: ['key'], allowShortSecret: true };
      const record = await storeTextOf(tools, 'kurz', settings);
      const queryTemplates = { key: '${TOKEN}' };
      for (const follow of [{}, FOLLOW]) {
        const answerWith = redirectTo(`${elsewhere.url}/b`);
        const api = await setUpApi(tools, { record, queryTemplates, answer: answerWith, ...follow });
        const { answer } = await expectCalled(api, '/a');
        expectThat(header(answer, 'location') === undefined, answer, 'no "location"');
        const type = header(answer, 'content-type');
        expectThat(type === 'text/plain', answer, 'the other headers that come back beside it');
        expectThat(elsewhere.calls.length === 0, answer, 'no call of where it leads');
      }
    },
  },
];

function expectValidators(answer: Answer): void {
  for (const [name, value] of Object.entries(VALIDATORS))
    expectThat(header(answer, name) === value, answer, `the upstream's "${name}: ${value}"`);
}
