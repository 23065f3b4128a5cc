import { isSignedBy, readCheckpoint, readNoteKey } from '@svault/shared/audit-chain';
import type { Check } from '../../check/check.ts';
import { eachVariant } from '../../check/each-variant.ts';
import { expectOk, expectRefusal, expectThat } from '../../check/expect.ts';
import type { Tools } from '../../check/tools.ts';
import type { Answer } from '../../http/client.ts';
import { CHECKPOINT_FORM_CHECKS } from './checkpoint-forms.ts';
import {
  CLAIMS,
  type CheckpointBody,
  type Head,
  appendCopies,
  checkpointOf,
  cosignedHead,
  cosignerOf,
  eventsAfter,
  expectKept,
  keptIn,
  send,
  waiting,
} from './checkpoint-log.ts';

const CLOCK_SECONDS = 60;

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
  ...CHECKPOINT_FORM_CHECKS,
];
