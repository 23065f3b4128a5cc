import { randomBytes } from 'node:crypto';
import { randomToken } from '@svault/shared';
import type { Capability } from '@svault/shared/schemas';
import type { Check, WebhookCheck } from '../../check/check.ts';
import { eachVariant, variantsAtOnce } from '../../check/each-variant.ts';
import { expectOk, expectRefusal, expectThat } from '../../check/expect.ts';
import type { SignatureDeviation } from '../../forge/signature.ts';
import type { Tools } from '../../check/tools.ts';
import { atEachEndpoint, hasBody, HEALTH, now, withBody } from './signed-requests.ts';

/** How often one request is sent at once. */
const AT_ONCE = 10;

const spent = (tools: Tools, nonce: string): Promise<unknown> =>
  tools.signed(HEALTH, { nonce }).then((answer) => expectOk(answer));

/** A check that an endpoint shares its nonces with the others. */
const sharesNonces = (claim: Capability, path: `/v1/${string}`): WebhookCheck => ({
  id: `replay.at-${path.slice('/v1/'.length)}`,
  title: `a nonce that was used is refused at ${path}, and one that was used there is refused elsewhere`,
  requirements: ['SIG-54'],
  claims: [claim],
  run: async (tools) => {
    for (const { sign, expectTaken } of Object.values(atEachEndpoint(tools, (each) => each.path === path))) {
      const [before, fresh] = [randomToken(), randomToken()];
      await spent(tools, before);
      const again = await tools.send(sign({ nonce: before }));
      expectRefusal(again, 'SIGNATURE_INVALID', 'the nonce of a request to /v1/health');
      const request = sign({ nonce: fresh });
      expectTaken(await tools.send(request));
      expectRefusal(await tools.send(request), 'SIGNATURE_INVALID', 'the same request again');
      const elsewhere = await tools.signed(HEALTH, { nonce: fresh });
      expectRefusal(elsewhere, 'SIGNATURE_INVALID', `/v1/health, under the nonce of a request to ${path}`);
    }
  },
});

/** Protocol section 3.3: each nonce once. */
export const REPLAY_CHECKS: readonly Check[] = [
  {
    id: 'signature.replayed',
    title: 'the same signed request is accepted once',
    requirements: ['SIG-54'],
    run: async (tools) =>
      eachVariant({ 'with a body': withBody(tools), 'without a body': HEALTH }, async (request) => {
        const ready = tools.sign(request);
        expectOk(await tools.send(ready));
        expectRefusal(await tools.send(ready), 'SIGNATURE_INVALID');
        expectRefusal(await tools.send(ready), 'SIGNATURE_INVALID');
      }),
  },
  {
    id: 'replay.at-once',
    title: 'the same signed request, sent ten times at once, is accepted once',
    requirements: ['SIG-54', 'SIG-56'],
    run: (tools) =>
      eachVariant(atEachEndpoint(tools), async ({ sign, expectTaken }) => {
        const request = sign();
        const answers = await Promise.all(Array.from({ length: AT_ONCE }, () => tools.send(request)));
        const [accepted, ...again] = answers.filter(({ status }) => status !== 401);
        for (const answer of again) expectThat(false, answer, '401: the request was accepted already');
        for (const answer of answers) if (answer !== accepted) expectRefusal(answer, 'SIGNATURE_INVALID');
        const [first] = answers;
        if (accepted !== undefined) expectTaken(accepted);
        else if (first !== undefined) expectThat(false, first, 'one of the ten to be accepted');
      }),
  },
  {
    id: 'replay.used-nonce',
    title: 'a nonce that was used is refused with whatever else the request says',
    requirements: ['SIG-54'],
    run: async (tools) => {
      const nonce = randomToken();
      await spent(tools, nonce);
      await variantsAtOnce(atEachEndpoint(tools), async ({ covered, sign }) => {
        const attempts: Readonly<Record<string, SignatureDeviation>> = {
          'another request': {},
          'other times': { created: now() - 5, expires: now() + 20 },
          'parameters in another order': {
            parameters: (right) => `;${right.slice(1).split(';').toReversed().join(';')}`,
          },
          'components in another order': { components: covered.toReversed() },
        };
        for (const [what, deviation] of Object.entries(attempts))
          expectRefusal(await tools.send(sign({ nonce, ...deviation })), 'SIGNATURE_INVALID', what);
      });
    },
  },
  sharesNonces('storage', '/v1/storage'),
  sharesNonces('refresh-notify', '/v1/refresh-notify'),
  sharesNonces('sv-refresh', '/v1/refresh'),
  sharesNonces('proxy', '/v1/proxy'),
  {
    id: 'replay.after-expiry',
    title:
      'a nonce is remembered as long as its request could be accepted, for 30 seconds after it expired too',
    requirements: ['SIG-55'],
    run: (tools) =>
      variantsAtOnce(atEachEndpoint(tools), async ({ sign, expectTaken }) => {
        const late = sign({ created: now() - 80, expires: now() - 24 });
        const ahead = sign({ created: now() + 25, expires: now() + 85 });
        for (const request of [late, ahead]) {
          expectTaken(await tools.send(request));
          const again = await tools.send(request);
          expectRefusal(
            again,
            'SIGNATURE_INVALID',
            request === late ? 'a late one' : 'a clock that is ahead',
          );
        }
      }),
  },
  {
    id: 'replay.other-nonce',
    title: 'nonces that differ in one letter, or in its case, are two',
    requirements: ['SIG-54', 'SIG-50'],
    run: (tools) =>
      variantsAtOnce(atEachEndpoint(tools), async ({ sign, expectTaken }) => {
        const long = randomToken(48).slice(1);
        const small = randomToken(16).toLowerCase();
        for (const nonce of [`${long}A`, `${long}B`, small, small.toUpperCase()])
          expectTaken(await tools.send(sign({ nonce })));
      }),
  },
  {
    id: 'replay.refused-nonce',
    title: 'a request that is refused for its MAC, its times or its digest does not use its nonce up',
    requirements: ['SIG-57'],
    run: async (tools) => {
      const { target, send } = tools;
      const key = { id: target.key.id, secret: randomBytes(32) };
      const [created, expires] = [now() - 200, now() - 140];
      await variantsAtOnce(atEachEndpoint(tools, hasBody), async ({ sign }) => {
        const attempts = {
          'the MAC': (nonce: string) => sign({ nonce, key }),
          'the times': (nonce: string) => sign({ nonce, created, expires }),
          'the digest': (nonce: string) => ({ ...sign({ nonce }), body: '[]' }),
        };
        for (const [what, attempt] of Object.entries(attempts)) {
          const nonce = randomToken();
          expectRefusal(await send(attempt(nonce)), 'SIGNATURE_INVALID', what);
          await spent(tools, nonce);
        }
      });
    },
  },
  {
    id: 'replay.before-the-body',
    title: 'a nonce is used up before the body is read, so that a refused body cannot be sent again',
    requirements: ['SIG-57'],
    run: (tools) =>
      // The body of a proxied call is the agent's, whatever it is.
      variantsAtOnce(
        atEachEndpoint(tools, ({ path }) => path !== '/v1/proxy'),
        async ({ request, sign }) => {
          const broken = tools.sign({ ...request(), body: '{"op":' });
          expectRefusal(await tools.send(broken), 'INVALID_REQUEST');
          expectRefusal(await tools.send(broken), 'SIGNATURE_INVALID', 'the same request again');
          const nonce = randomToken();
          expectRefusal(await tools.signed({ ...request(), body: '{"op":' }, { nonce }), 'INVALID_REQUEST');
          expectRefusal(
            await tools.send(sign({ nonce })),
            'SIGNATURE_INVALID',
            'its nonce in a right request',
          );
        },
      ),
  },
];
