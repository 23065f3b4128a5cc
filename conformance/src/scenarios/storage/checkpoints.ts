import { randomToken } from '@svault/shared';
import { createCosignerKey, isSignedBy, readCheckpoint, readNoteKey } from '@svault/shared/audit-chain';
import type { Check } from '../../check/check.ts';
import { eachVariant } from '../../check/each-variant.ts';
import { expectOk, expectRefusal, expectThat } from '../../check/expect.ts';
import type { Tools } from '../../check/tools.ts';
import type { Answer } from '../../http/client.ts';
import {
  type CheckpointBody,
  type Head,
  type LogEvent,
  appendCopies,
  checkpointOf,
  cosignedHead,
  cosignerOf,
  eventsAfter,
  hashBehind,
  inChain,
  keptIn,
  originOf,
  send,
} from './checkpoint-log.ts';

const CLAIMS = ['storage', 'audit-checkpoints'] as const;
const MAX_NOTE_BYTES = 4_096;
const MAX_EVENTS = 500;
const CLOCK_SECONDS = 60;

/** Whether what is kept is as it was: it is cosigned again. */
async function expectKept(tools: Tools, { size, hash }: Head): Promise<void> {
  const answer = await send(tools, checkpointOf(tools, { size, hash }, []));
  expectThat(answer.status === 200, answer, `200, as the checkpoint of ${size} is still kept`);
}

async function expectInvalid(tools: Tools, head: Head, body: object): Promise<void> {
  expectRefusal(await send(tools, body), 'INVALID_REQUEST');
  await expectKept(tools, head);
}

/** With events that the webhook has, behind what it has cosigned. */
async function waiting(
  tools: Tools,
  count = 2,
): Promise<{ readonly head: LogEvent; readonly events: readonly LogEvent[]; readonly body: CheckpointBody }> {
  const { head } = await cosignedHead(tools);
  const events = eventsAfter(head, count);
  await appendCopies(tools, events);
  return { head, events, body: checkpointOf(tools, head, events) };
}

function expectCosignature(tools: Tools, answer: Answer, { checkpoint }: CheckpointBody): void {
  const { cosignature, key } = expectOk(answer);
  expectThat(typeof key === 'string' && isKey(key, cosignerOf(tools)), answer, 'key, of this webhook');
  expectThat(typeof cosignature === 'string', answer, 'cosignature');
  expectThat(isCosigned(checkpoint + cosignature, key), answer, 'a cosignature that this key verifies');
  const made = readCheckpoint(checkpoint + cosignature)
    .signatures.at(-1)
    ?.signature.readBigUInt64BE(0);
  const late = Math.abs(Date.now() / 1_000 - Number(made));
  expectThat(late <= CLOCK_SECONDS, answer, 'a cosignature of this moment');
}

/** A JSON array as an object with the same values. */
const asObject = (array: string): string =>
  JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(array) as object)));

const signatureIn = (checkpoint: string): string => checkpoint.slice(checkpoint.indexOf('\n\n') + 2);

const isKey = (vkey: string, name: string): boolean => {
  try {
    const key = readNoteKey(vkey);
    return key.role === 'cosigner' && key.name === name;
  } catch {
    return false;
  }
};
const isCosigned = (note: string, vkey: string): boolean => {
  try {
    return isSignedBy(note, vkey);
  } catch {
    return false;
  }
};

/** Protocol section 5.11. */
export const CHECKPOINT_CHECKS: readonly Check[] = [
  {
    id: 'checkpoints.cosigned',
    title: 'a checkpoint that goes on from the one before is cosigned with the key of the webhook',
    requirements: ['CKP-16', 'CKP-17'],
    claims: CLAIMS,
    run: async (tools) => {
      const { body } = await waiting(tools);
      expectCosignature(tools, await send(tools, body), body);
    },
  },
  {
    id: 'checkpoints.repeated',
    title: 'a checkpoint is cosigned again with the same key, with events before it, with some and with none',
    requirements: ['CKP-15', 'STO-20'],
    claims: CLAIMS,
    run: async (tools) => {
      const { before, events } = await cosignedHead(tools, 3);
      const keys = new Set<unknown>();
      for (const from of [0, 2, 3]) {
        const body = checkpointOf(tools, events[from - 1] ?? before, events.slice(from));
        const answer = await send(tools, body);
        expectCosignature(tools, answer, body.events.length > 0 ? body : checkpointOf(tools, before, events));
        keys.add(expectOk(answer)['key']);
        expectThat(keys.size === 1, answer, 'the same key');
      }
    },
  },
  {
    id: 'checkpoints.overlapping',
    title: 'events may begin before the checkpoint that is kept',
    requirements: ['CKP-10'],
    claims: CLAIMS,
    run: async (tools) => {
      const { before, events, head } = await cosignedHead(tools, 2);
      const more = eventsAfter(head, 1);
      await appendCopies(tools, more);
      expectOk(await send(tools, checkpointOf(tools, before, [...events, ...more])));
    },
  },
  {
    id: 'checkpoints.contradiction',
    title: 'a log that was changed or cut is answered 409 with what is kept, which stays',
    requirements: ['CKP-09', 'CKP-10', 'CKP-12', 'CKP-13'],
    claims: CLAIMS,
    run: async (tools) => {
      const { before, events, head } = await cosignedHead(tools, 3);
      const [first] = events;
      if (first === undefined) return;
      const changed = async (from: Head, count: number): Promise<CheckpointBody> => {
        const others = eventsAfter(from, count);
        await appendCopies(tools, others);
        return checkpointOf(tools, from, others);
      };
      await eachVariant(
        {
          'a smaller size': checkpointOf(tools, before, [first]),
          'another hash at the same size': await changed(first, 2),
          'another hash at that size in a longer log': await changed(first, 4),
          'a size that is passed over': await changed({ size: head.size + 1, hash: head.hash }, 1),
          'another hash before the events': await changed({ size: head.size, hash: first.hash }, 1),
        },
        async (body) => {
          const answer = await send(tools, body);
          expectRefusal(answer, 'CHECKPOINT_CONFLICT');
          const kept = keptIn(answer);
          expectThat(
            kept?.size === head.size && kept.hash === head.hash,
            answer,
            `size ${head.size} and hash ${head.hash}`,
          );
          await expectKept(tools, head);
        },
      );
    },
  },
  {
    id: 'checkpoints.other-key',
    title: 'a checkpoint that another key has signed is answered 409',
    requirements: ['CKP-11'],
    claims: CLAIMS,
    run: async (tools) => {
      const { head, events } = await waiting(tools);
      const answer = await send(tools, checkpointOf(tools, head, events, { otherKey: true }));
      expectRefusal(answer, 'CHECKPOINT_CONFLICT');
      await expectKept(tools, head);
    },
  },
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
          'a fourth line': other({ line: 'more\n' }),
          'no line feed at its end': { ...body, checkpoint: checkpoint.slice(0, -1) },
          'more than 4 KiB': { ...body, checkpoint: checkpoint + long },
          'a signature of another text': { ...body, checkpoint: `${text}${signatureIn(former)}` },
          'another key than the one that signed': { ...body, key: other({ otherKey: true }).key },
          'no key': { ...body, key: undefined },
          'a key of a cosigner': { ...body, key: createCosignerKey(origin, new Uint8Array(32)).vkey },
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
      const first = eventsAfter({ size: 0, hash: head.hash }, 1);
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
          'a text with another number': single(inChain(head, event.event, undefined, head.size + 2)),
          'more than the checkpoint covers': checkpointOf(tools, noEvents, eventsAfter(noEvents, 2)),
          'a hash before the first event': checkpointOf(tools, { size: 0, hash: head.hash }, first),
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
];
