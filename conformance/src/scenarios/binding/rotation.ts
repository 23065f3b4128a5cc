import { expectKept, settingsFor } from '../refresh/kept-settings.ts';
import { randomBytes } from 'node:crypto';
import { toBase64url, type HmacKey } from '@svault/shared';
import { NotTestable } from '../../check/outcome.ts';
import type { WebhookCheck } from '../../check/check.ts';
import { expectOk, expectRefusal, expectThat } from '../../check/expect.ts';
import type { TicketDeviation } from '../../forge/ticket.ts';
import type { Answer, RequestToSend } from '../../http/client.ts';
import type { Tools } from '../../check/tools.ts';
import { keeping, replacing, ROTATE } from './rotating.ts';

const ticketUnder = ({ id, secret }: HmacKey): TicketDeviation => ({ header: { kid: id }, secret });

/** Fetches with a ticket under this key what is not there: 404 where the ticket is good. */
const fetchUnder = (tools: Tools, key: HmacKey): Promise<Answer> =>
  tools.fetchCredential(tools.ticket('credential', tools.freshName(), ticketUnder(key)));

/** Calls a proxy that is not there, with a ticket under this key in a request under the key of now. */
const proxyUnder = (tools: Tools, key: HmacKey): Promise<Answer> =>
  tools.proxied({ proxyId: tools.freshProxyId(), serviceName: tools.freshName(), ticket: ticketUnder(key) });

function expectGoodTicket(answer: Answer, whose: string): void {
  expectThat(answer.status !== 401, answer, `a ticket under ${whose} key to be good`);
}

/** Protocol section 5.1, at the end of a run since it changes the key. */
export const ROTATION_CHECKS: readonly WebhookCheck[] = [
  {
    id: 'rotation.answer',
    title: 'a rotation answers a new key id and a new secret of 32 bytes, and the current key holds on',
    requirements: ['ROT-02', 'SIG-37', 'SIG-43', 'TRN-16'],
    run: keeping(async (tools, { learn, request }) => {
      const current = tools.target.key;
      const answer = await tools.signed(ROTATE);
      learn(answer);
      const { keyId, hmacSecret } = expectOk(answer);
      expectThat(
        typeof keyId === 'string' && /^[A-Za-z0-9_-]{1,64}$/.test(keyId),
        answer,
        'keyId of 1 to 64 of A-Z a-z 0-9 _ -',
      );
      expectThat(keyId !== current.id && keyId !== 'bind', answer, 'a key id of its own');
      expectThat(
        typeof hmacSecret === 'string' && /^[A-Za-z0-9_-]{43}$/.test(hmacSecret),
        answer,
        'hmacSecret as base64url of 32 bytes without padding',
      );
      expectThat(hmacSecret !== toBase64url(current.secret), answer, 'a secret of its own');
      expectOk(await request(current));
    }),
  },
  {
    id: 'rotation.signed',
    title: 'a rotation that is unsigned, wrongly signed, tampered with or replayed is refused',
    requirements: ['ROT-01'],
    run: keeping(async ({ send, sign, target }, { learn, request: asked }) => {
      const refused = async (what: string, request: RequestToSend): Promise<void> => {
        const answer = await send(request);
        expectThat(answer.status === 401, answer, `401 to a rotation that is ${what}`);
        expectRefusal(answer, 'SIGNATURE_INVALID');
      };
      const right = sign(ROTATE);
      const { method, path, body = '' } = right;
      await refused('unsigned', { method, path, headers: [['content-type', 'application/json']], body });
      const forged = sign(ROTATE, { key: { ...target.key, secret: randomBytes(32) } });
      await refused('signed with another key', forged);
      await refused('under no key of the webhook’s', sign(ROTATE, { key: { ...target.key, id: 'k-none' } }));
      await refused('tampered with', { ...right, body: '{"op": "rotate"}' });
      const again = sign(ROTATE);
      const first = await send(again);
      if (learn(first) === undefined) throw new NotTestable('a right rotation was refused', first);
      await refused('replayed', again);
      expectOk(await asked(target.key));
    }),
  },
  {
    id: 'rotation.keeps-current',
    title: 'rotations whose keys nobody uses leave the current key the current one, for requests and tickets',
    requirements: ['ROT-02', 'ROT-06'],
    run: keeping(async (tools, { learn, rotate, request }) => {
      const current = tools.target.key;
      await rotate();
      const again = await tools.signed(ROTATE);
      expectThat(learn(again) !== undefined, again, 'another new key while one is pending');
      expectOk(await request(current));
      if (tools.claims.has('credential')) expectGoodTicket(await fetchUnder(tools, current), 'the current');
    }),
  },
  {
    id: 'rotation.pending-signs-no-tickets',
    title: 'a ticket under a pending key is refused, and does not make that key the current one',
    requirements: ['ROT-07', 'ROT-08'],
    claims: ['credential'],
    run: keeping(async (tools, { rotate, request }) => {
      const current = tools.target.key;
      const pending = await rotate();
      expectRefusal(await fetchUnder(tools, pending), 'TICKET_INVALID');
      if (tools.claims.has('store'))
        expectRefusal(
          await tools.store(
            tools.freshName(),
            { tokenType: 'PlainText', value: 'never stored' },
            ticketUnder(pending),
          ),
          'TICKET_INVALID',
        );
      if (tools.claims.has('proxy')) expectRefusal(await proxyUnder(tools, pending), 'TICKET_INVALID');
      // Would be good by now if one of those before had made the key the current one.
      expectRefusal(await fetchUnder(tools, pending), 'TICKET_INVALID');
      expectOk(await request(current));
    }),
  },
  {
    id: 'rotation.replaces-pending',
    title: 'a second rotation replaces the pending key: the first one is refused and the second one accepted',
    requirements: ['ROT-06'],
    run: replacing(async (tools, { rotate, request }) => {
      const replaced = await rotate();
      const pending = await rotate();
      expectRefusal(await request(replaced), 'SIGNATURE_INVALID');
      expectOk(await request(pending));
      tools.keyIsNow(pending);
    }),
  },
  {
    id: 'rotation.valid-request-promotes',
    title: 'a request under a pending key that is forged or late does not make it the current one',
    requirements: ['ROT-02', 'ROT-03'],
    claims: ['credential'],
    run: replacing(async (tools, { rotate, request }) => {
      const pending = await rotate();
      const forged = await request({ ...pending, secret: randomBytes(32) });
      expectRefusal(forged, 'SIGNATURE_INVALID');
      const created = Math.floor(Date.now() / 1000) - 200;
      const late = await request(pending, { created, expires: created + 60 });
      expectRefusal(late, 'SIGNATURE_INVALID');
      expectRefusal(await fetchUnder(tools, pending), 'TICKET_INVALID');
    }),
  },
  {
    id: 'rotation.promotes',
    title:
      'the first valid request under a pending key makes it the current one: it signs tickets and rotations',
    requirements: ['ROT-03'],
    run: replacing(async (tools, { learn, rotate, request }) => {
      const pending = await rotate();
      expectOk(await request(pending));
      tools.keyIsNow(pending);
      if (tools.claims.has('credential')) expectGoodTicket(await fetchUnder(tools, pending), 'the new');
      const rotated = await tools.signed(ROTATE);
      expectThat(learn(rotated) !== undefined, rotated, 'a rotation signed with the new key to be answered');
    }),
  },
  {
    id: 'rotation.promotes-anywhere',
    title: 'a request to /v1/storage under a pending key makes it the current one as well',
    requirements: ['ROT-03'],
    claims: ['storage', 'credential'],
    run: replacing(async (tools, { rotate }) => {
      const pending = await rotate();
      const list = { method: 'POST', path: '/v1/storage', body: { op: 'tokens.list', limit: 1 } } as const;
      expectOk(await tools.signed(list, { key: pending }));
      tools.keyIsNow(pending);
      expectGoodTicket(await fetchUnder(tools, pending), 'the new');
    }),
  },
  {
    id: 'rotation.keeps-records',
    title: 'records have the settings that they were stored with after a rotation too',
    requirements: ['TRU-01', 'SAV-08'],
    claims: ['store', 'storage'],
    run: replacing(async (tools, { promoted }) => {
      const { name } = await tools.given.text(settingsFor(tools));
      await expectKept(tools, name, promoted);
    }),
  },
  {
    id: 'rotation.former-signs-requests',
    title: 'the former key still holds for requests',
    requirements: ['ROT-04'],
    run: replacing(async (_, { promoted, request }) => {
      const { now, former } = await promoted();
      expectOk(await request(former));
      expectOk(await request(now));
      expectOk(await request(former));
    }),
  },
  {
    id: 'rotation.former-signs-tickets',
    title: 'the former key still holds for tickets',
    requirements: ['ROT-04'],
    claims: ['credential'],
    run: replacing(async (tools, { promoted }) => {
      const { former } = await promoted();
      expectGoodTicket(await fetchUnder(tools, former), 'the former');
      if (tools.claims.has('proxy')) expectGoodTicket(await proxyUnder(tools, former), 'the former');
    }),
  },
  {
    id: 'rotation.former-does-not-rotate',
    title: 'a rotation under the former key is refused, and the current key holds on',
    requirements: ['ROT-10', 'ROT-01'],
    run: replacing(async (tools, { promoted, request, learn }) => {
      const { now, former } = await promoted();
      const rotated = await tools.signed(ROTATE, { key: former });
      learn(rotated);
      expectRefusal(rotated, 'SIGNATURE_INVALID');
      expectOk(await request(now));
    }),
  },
];
