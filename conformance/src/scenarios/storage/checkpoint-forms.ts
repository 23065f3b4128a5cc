import { createHash } from 'node:crypto';
import { randomToken } from '@svault/shared';
import { VAULT_ID } from '../../binding/handshake.ts';
import type { Check } from '../../check/check.ts';
import { eachVariant } from '../../check/each-variant.ts';
import { expectOk, expectRefusal, expectThat } from '../../check/expect.ts';
import type { Tools } from '../../check/tools.ts';
import {
  CLAIMS,
  type CheckpointBody,
  type Head,
  type LogEvent,
  appendCopies,
  checkpointOf,
  cosignedHead,
  eventsAfter,
  expectKept,
  hashBehind,
  inChain,
  originOf,
  send,
  waiting,
} from './checkpoint-log.ts';
import { allOf } from './holdings.ts';

const MAX_NOTE_BYTES = 4_096;
const MAX_EVENTS = 500;

async function expectInvalid(tools: Tools, head: Head, body: object): Promise<void> {
  expectRefusal(await send(tools, body), 'INVALID_REQUEST');
  await expectKept(tools, head);
}

/** A JSON array as an object with the same values. */
const asObject = (array: string): string =>
  JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(array) as object)));

const signatureIn = (checkpoint: string): string => checkpoint.slice(checkpoint.indexOf('\n\n') + 2);

/** The right signature under another key id. */
function withOtherKey(
  body: CheckpointBody,
  { type = 1, more = 0, id }: { readonly type?: number; readonly more?: number; readonly id?: Buffer },
): CheckpointBody {
  const [, name = '', encoded = ''] = /^(.+)\+[0-9a-f]{8}\+(.+)$/.exec(body.key) ?? [];
  const publicKey = Buffer.from(encoded, 'base64').subarray(1);
  const material = Buffer.concat([Buffer.of(type), publicKey, Buffer.alloc(more)]);
  const keyId = id ?? createHash('sha256').update(`${name}\n`).update(material).digest().subarray(0, 4);
  const signature = signatureIn(body.checkpoint);
  const bytes = Buffer.from(signature.split(' ').at(-1) ?? '', 'base64');
  keyId.copy(bytes);
  const line = `— ${name} ${bytes.toString('base64')}\n`;
  const key = `${name}+${keyId.toString('hex')}+${material.toString('base64')}`;
  return { ...body, key, checkpoint: body.checkpoint.replace(signature, line) };
}

/** Protocol section 5.11: what is refused by what it says itself, and by the copies of events. */
export const CHECKPOINT_FORM_CHECKS: readonly Check[] = [
  {
    id: 'checkpoints.bad-note',
    title: 'what is no checkpoint of this log, signed by its key, is refused',
    requirements: ['CKP-01', 'CKP-02', 'CKP-03', 'CKP-13'],
    claims: CLAIMS,
    run: async (tools) => {
      const { head, events, body } = await waiting(tools);
      const { checkpoint } = body;
      const signature = signatureIn(checkpoint);
      const text = checkpoint.slice(0, -signature.length);
      const former = checkpointOf(tools, head, []).checkpoint;
      const origin = originOf(tools);
      const other = (changed: Parameters<typeof checkpointOf>[3]): CheckpointBody =>
        checkpointOf(tools, head, events, changed);
      const long = `— ${'x'.repeat(MAX_NOTE_BYTES)} AAAAAAA=\n`;
      await eachVariant<object>(
        {
          'no signature': { ...body, checkpoint: text },
          'two signatures': { ...body, checkpoint: checkpoint + signature },
          'a fourth line': other({ text: (right) => `${right}more\n` }),
          'a leading zero in its size': other({ text: (right) => right.replace('\n', '\n0') }),
          'a hyphen before its signature': { ...body, checkpoint: text + signature.replace('—', '-') },
          'another name at its signature': {
            ...body,
            checkpoint: text + signature.replace(origin, `${origin}A`),
          },
          'its name in capital letters at its signature': {
            ...body,
            checkpoint: text + signature.replace(origin, origin.toUpperCase()),
          },
          'another key id at its signature': {
            ...body,
            checkpoint: withOtherKey(body, { id: Buffer.alloc(4) }).checkpoint,
          },
          'no line feed at its end': { ...body, checkpoint: checkpoint.slice(0, -1) },
          'more than 4 KiB': { ...body, checkpoint: checkpoint + long },
          'a signature of another text': { ...body, checkpoint: `${text}${signatureIn(former)}` },
          'another key than the one that signed': { ...body, key: other({ otherKey: true }).key },
          'no key': { ...body, key: undefined },
          'a key of a cosigner': withOtherKey(body, { type: 4 }),
          'a key with a byte more': withOtherKey(body, { more: 1 }),
          'another hash in the key and at the signature': withOtherKey(body, { id: Buffer.alloc(4) }),
          'another hash in the key': { ...body, key: body.key.replace(/\+.{8}\+/, '+00000000+') },
          'text before the key': { ...body, key: `key ${body.key}` },
          'text behind the key': { ...body, key: `${body.key} key` },
          'the name of the key in capital letters': other({ keyName: origin.toUpperCase() }),
          'the origin in capital letters': other({ origin: origin.toUpperCase() }),
          'another name of the key': other({ keyName: `${origin}-2` }),
          'another account': other({ origin: `${origin}A` }),
          'another host': other({ origin: `other-${origin}` }),
        },
        (variant) => expectInvalid(tools, head, variant),
      );
    },
  },
  {
    id: 'checkpoints.bad-events',
    title: 'events that do not lead to the checkpoint are refused',
    requirements: ['CKP-04', 'CKP-05', 'CKP-06', 'CKP-07', 'CKP-13'],
    claims: CLAIMS,
    run: async (tools) => {
      const { head, body } = await waiting(tools);
      const many = eventsAfter(head, MAX_EVENTS + 1);
      const [event] = eventsAfter(head, 1);
      if (event === undefined) return;
      await appendCopies(tools, [event, ...many]);
      const single = (made: LogEvent): object => checkpointOf(tools, head, [made]);
      const noArray = { ...event, text: asObject(event.text) };
      const noEvents: Head = { size: -1, hash: head.hash };
      const ofFirst = (hash: string): object =>
        checkpointOf(tools, { size: 0, hash }, eventsAfter({ size: 0, hash }, 1));
      await eachVariant<object>(
        {
          'in another order': { ...body, events: body.events.toReversed() },
          'one left out': { ...body, events: body.events.slice(1) },
          'another hash of the checkpoint': {
            ...body,
            checkpoint: checkpointOf(tools, { size: head.size + 2, hash: head.hash }, []).checkpoint,
          },
          'a text that is no array': single({ ...noArray, hash: hashBehind(head, noArray.text) }),
          'a text of another account': single(inChain(head, event.event, 'vlt_other')),
          'a text of an account in capital letters': single(
            inChain(head, event.event, VAULT_ID.toUpperCase()),
          ),
          'a text of an account with a longer id': single(inChain(head, event.event, `${VAULT_ID}A`)),
          'a text with another number': single(inChain(head, event.event, undefined, head.size + 2)),
          'a text with its number as a text': single(
            inChain(head, event.event, undefined, String(head.size + 1)),
          ),
          'no list of events': { ...body, events: body.events[0] },
          'fewer zeros before the first event': ofFirst('0'.repeat(63)),
          'more than the checkpoint covers': checkpointOf(tools, noEvents, eventsAfter(noEvents, 2)),
          'a hash before the first event': ofFirst(head.hash),
          'more than 500': checkpointOf(tools, head, many),
        },
        (variant) => expectInvalid(tools, head, variant),
      );
    },
  },
  {
    id: 'checkpoints.unknown-event',
    title: 'an event that was not appended, or was with other members, is refused',
    requirements: ['CKP-08', 'CKP-13'],
    claims: CLAIMS,
    run: async (tools) => {
      const { head } = await cosignedHead(tools);
      const id = `evt_${randomToken()}`;
      const ids = { agentId: 'agt_1', proxyId: 'prx_1', userId: 'usr_1', count: 2 };
      const [known] = eventsAfter(head, 1, { id, ...ids });
      const [unknown] = eventsAfter(head, 1);
      if (known === undefined || unknown === undefined) return;
      await appendCopies(tools, [known]);
      const { event } = known;
      const changed = (members: object): LogEvent => inChain(head, { ...event, ...members });
      await eachVariant(
        {
          'not appended': unknown,
          'another type': changed({ eventType: 'OTHER' }),
          'another case of its type': changed({ eventType: 'conformance' }),
          'a longer type': changed({ eventType: 'CONFORMANCE2' }),
          'another time': changed({ timestamp: '2026-01-01T00:00:00.000Z' }),
          'another outcome': changed({ outcome: 'denied' }),
          'another agent': changed({ agentId: 'agt_2' }),
          'no agent': changed({ agentId: undefined }),
          'another proxy': changed({ proxyId: 'prx_2' }),
          'another user': changed({ userId: 'usr_2' }),
          'another service': changed({ serviceName: 'other' }),
          'another count': changed({ count: 3 }),
        },
        (made) => expectInvalid(tools, head, checkpointOf(tools, head, [made])),
      );
      expectOk(await send(tools, checkpointOf(tools, head, [known])));
    },
  },
  {
    id: 'checkpoints.own-event',
    title: 'an entry that the webhook wrote itself is none of the control plane’s events',
    requirements: ['CKP-08'],
    claims: [...CLAIMS, 'store'],
    run: async (tools) => {
      const { name: serviceName } = await tools.given.text();
      const { answer, items } = await allOf(tools, { op: 'audit.list', serviceName });
      const [own] = items;
      expectThat(own !== undefined, answer, 'an entry of the store');
      const { head } = await cosignedHead(tools);
      await expectInvalid(tools, head, checkpointOf(tools, head, [inChain(head, own)]));
    },
  },
  {
    id: 'checkpoints.most-events',
    title: 'a checkpoint with 500 events is cosigned',
    requirements: ['CKP-04'],
    claims: CLAIMS,
    run: async (tools) => {
      const { body } = await waiting(tools, MAX_EVENTS);
      expectOk(await send(tools, body));
    },
  },
];
