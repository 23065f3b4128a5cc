/** Checkpoints of the control plane's audit log (PROTOCOL.md section 5.11). */
import { randomBytes } from 'node:crypto';
import { ManualClock, toBase64url } from '@svault/shared';
import { CHAIN_START, eventText, isSignedBy, readNoteKey } from '@svault/shared/audit-chain';
import type { AuditItem } from '@svault/shared/schemas';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answer, type BoundWebhook, boundWebhook, webhookOfTest } from '../support/bound-webhook.ts';
import { type ControlPlaneLog, ORIGIN, controlPlaneLog } from '../support/control-plane-log.ts';
import { runWebhook } from '../support/run-webhook.ts';

interface Cosigned {
  readonly webhook: BoundWebhook;
  readonly log: ControlPlaneLog;
  readonly key: string;
}

/** Has copies of five events, and has cosigned the checkpoint of the first three. */
async function cosigned(
  start: (options: { clock: ManualClock }) => Promise<BoundWebhook> = webhookOfTest,
): Promise<Cosigned> {
  // On the real time of day, since commands run in processes of their own.
  const webhook = await start({ clock: new ManualClock(Date.now()) });
  const log = controlPlaneLog(webhook).add(5);
  expect((await log.append()).json).toEqual({ accepted: 5 });
  const { status, json } = await log.send(log.checkpoint(0, 3));
  expect(status).toBe(200);
  return { webhook, log, key: json.key };
}

const refused = ({ status, json }: Answer) => ({ status, code: json.code });
const INVALID = { status: 400, code: 'INVALID_REQUEST' };

describe('a checkpoint', () => {
  it('is cosigned with the key that the answer has, at the time of the webhook', async () => {
    const { log, key, webhook } = await cosigned();
    const body = log.checkpoint(3);
    const { json } = await log.send(body);
    expect(json).toEqual({ cosignature: expect.any(String), key });
    expect(readNoteKey(key)).toEqual({ name: 'webhook.test', role: 'cosigner' });
    const note = body.checkpoint + json.cosignature;
    expect([isSignedBy(note, key), isSignedBy(note, log.vkey)]).toEqual([true, true]);
    const [, base64 = ''] = / (\S+)\n$/.exec(json.cosignature) ?? [];
    const seconds = Buffer.from(base64, 'base64').readBigUInt64BE(4);
    expect(Number(seconds)).toBe(Math.floor(webhook.clock.now() / 1_000));
  });

  it('may be sent again, with events or without, and with events from before the cosigned one', async () => {
    const { log } = await cosigned();
    for (const from of [0, 2, 3]) expect((await log.send(log.checkpoint(from, 3))).status).toBe(200);
    for (const from of [1, 5, 0]) expect((await log.send(log.checkpoint(from))).status).toBe(200);
  });

  it('of a log that the webhook has seen nothing of begins where its events do', async () => {
    const webhook = await webhookOfTest();
    const log = controlPlaneLog(webhook).add(5);
    await log.append(3);
    expect(refused(await log.send(log.checkpoint(5)))).toEqual(INVALID);
    expect((await log.send(log.checkpoint(3))).status).toBe(200);
  });

  it('is cosigned after a restart only where it continues', async () => {
    const { webhook, log, key } = await cosigned();
    await webhook.restart();
    expect(refused(await log.send(log.checkpoint(0, 2)))).toEqual({
      status: 409,
      code: 'CHECKPOINT_CONFLICT',
    });
    expect((await log.send(log.checkpoint(3))).json.key).toBe(key);
  });
});

describe('of a webhook that has cosigned three events', () => {
  let shared: Cosigned;
  beforeAll(async () => {
    shared = await cosigned(boundWebhook);
  });
  afterAll(() => shared.webhook.remove());

  /** With a later one it would refuse to cosign this one. */
  const expectUnchanged = async ({ log }: Cosigned): Promise<void> =>
    expect((await log.send(log.checkpoint(2, 3))).status).toBe(200);

  describe('a checkpoint that contradicts the cosigned one is refused with the size and hash of that one', () => {
    it.each<[string, (log: ControlPlaneLog) => object]>([
      ['of a log that was cut', (log) => log.checkpoint(0, 2)],
      [
        'of a log that was cut, with events after the cut',
        (log) => log.upTo(2).add(3, { outcome: 'error' }).checkpoint(0),
      ],
      [
        'of a log with a changed event',
        (log) => log.upTo(1).add(1, { outcome: 'denied' }).add(3).checkpoint(0),
      ],
      ['with another hash at the same size', (log) => log.upTo(2).add(1, { count: 2 }).checkpoint(2)],
      ['whose events begin behind it', (log) => log.checkpoint(4)],
      ['whose previous hash is another', (log) => log.upTo(2).add(3, { count: 2 }).checkpoint(3)],
    ])('%s', async (_, made) => {
      const { log } = shared;
      const { status, json } = await log.send(made(log));
      const { hash } = log.events[2]!;
      expect([status, json]).toEqual([
        409,
        expect.objectContaining({ code: 'CHECKPOINT_CONFLICT', size: 3, hash, error: expect.any(String) }),
      ]);
      await expectUnchanged(shared);
    });

    it('signed with another key of the control plane', async () => {
      const { log, webhook } = shared;
      const other = controlPlaneLog(webhook, { events: log.events, seed: 8 });
      expect(await other.send(other.checkpoint(3))).toMatchObject({ status: 409, json: { size: 3 } });
      await expectUnchanged(shared);
    });
  });

  describe('no checkpoint is', () => {
    it.each<[string, (log: ControlPlaneLog, webhook: BoundWebhook) => object]>([
      ['text without a signature', (log) => ({ ...log.checkpoint(3), checkpoint: 'text\n' })],
      ['an empty note', (log) => ({ ...log.checkpoint(3), checkpoint: '' })],
      [
        'one with a wrong signature',
        (log) => ({
          ...log.checkpoint(3),
          checkpoint: log.checkpoint(3, 4).checkpoint.replace('\n4\n', '\n5\n'),
        }),
      ],
      [
        'one with two signatures',
        (log) => ({
          ...log.checkpoint(3),
          checkpoint: log.checkpoint(3).checkpoint + /— .+\n$/.exec(log.checkpoint(3).checkpoint)![0],
        }),
      ],
      [
        'one above 4 KiB',
        (log) => ({
          ...log.checkpoint(3),
          checkpoint: `${log.checkpoint(3).checkpoint}${'x'.repeat(4_096)}`,
        }),
      ],
      ['one whose key is none', (log) => ({ ...log.checkpoint(3), key: 'a+b+c' })],
      ['one without a key', (log) => ({ ...log.checkpoint(3), key: undefined })],
      [
        'one of another origin',
        (log, webhook) =>
          controlPlaneLog(webhook, {
            events: log.events,
            origin: ORIGIN.replace('service', 'other'),
          }).checkpoint(3),
      ],
      [
        'one of another account',
        (log, webhook) =>
          controlPlaneLog(webhook, { events: log.events, origin: ORIGIN.replace('AAAA', 'BBBB') }).checkpoint(
            3,
          ),
      ],
      [
        'one whose events are of another account',
        (log) => log.upTo(3).add(2, { vaultId: 'vlt_BBBBBBBBBBBBBBBBBBBBBB' }).checkpoint(3),
      ],
      [
        'one whose events lead to another hash',
        (log) => ({ ...log.checkpoint(3), events: log.checkpoint(3).events.toReversed() }),
      ],
      [
        'one with another number in its events',
        (log) => ({ ...log.checkpoint(3), events: log.checkpoint(2, 4).events }),
      ],
      [
        'one with more events than its size',
        (log) => ({
          ...log.checkpoint(0, 3),
          events: [...log.checkpoint(0).events, eventText(log.events[0]!)],
        }),
      ],
      ['one with events that are no JSON', (log) => ({ ...log.checkpoint(3), events: ['[', ']'] })],
      ['one with events that are no array', (log) => ({ ...log.checkpoint(3), events: ['{}', 'null'] })],
      [
        'one with a previous hash in capital letters',
        (log) => ({ ...log.checkpoint(3), previous: log.checkpoint(3).previous.toUpperCase() }),
      ],
      [
        'one from the first event on with a hash before it',
        (log) => ({ ...log.checkpoint(0), previous: 'a'.repeat(64) }),
      ],
      [
        'one with more than 500 events',
        (log) => ({ ...log.checkpoint(3), events: Array.from({ length: 501 }, () => '[]') }),
      ],
      ['one with an event that was never appended', (log) => log.add(1).checkpoint(3)],
      [
        'one with an event that was appended with another outcome',
        (log) => log.upTo(4).add(1, { outcome: 'denied' }).checkpoint(3),
      ],
      [
        'one with an event that was appended for another credential',
        (log) => log.upTo(4).add(1, { serviceName: 'gitlab' }).checkpoint(3),
      ],
      [
        'one with an event that was appended without the agent',
        (log) => log.upTo(4).add(1, { agentId: 'agt_A' }).checkpoint(3),
      ],
    ])('%s', async (_, made) => {
      const { log, webhook } = shared;
      expect(refused(await log.send(made(log, webhook)))).toEqual(INVALID);
      await expectUnchanged(shared);
    });
  });
});

it('an event of the webhook’s own log is no copy of one of the control plane', async () => {
  const webhook = await webhookOfTest();
  const { json } = await webhook.storage({ op: 'audit.list', limit: 1 });
  const [{ id, eventType, timestamp, outcome }] = json.items as [AuditItem];
  const log = controlPlaneLog(webhook).add(1, {
    ...{ id, eventType, timestamp, outcome },
    ...{ serviceName: undefined, detail: undefined },
  });
  expect(refused(await log.send(log.checkpoint(0)))).toEqual(INVALID);
});

/** What `audit checkpoint` prints. */
const notesOf = async (webhook: BoundWebhook): Promise<string[]> => {
  const { code, stdout } = await runWebhook(webhook.env, 'audit', 'checkpoint');
  return code === 0 ? [stdout] : [];
};

describe('on the machine of the webhook', () => {
  it('audit checkpoint prints the note that was cosigned last, and with --keys who signed it', async () => {
    const { webhook, log, key } = await cosigned();
    const body = log.checkpoint(3);
    const { json } = await log.send(body);
    expect(await notesOf(webhook)).toEqual([body.checkpoint + json.cosignature]);
    const keys = await runWebhook(webhook.env, 'audit', 'checkpoint', '--keys');
    expect(keys).toMatchObject({ code: 0, stdout: `${log.vkey}\n${key}\n` });
    expect((await runWebhook(webhook.env, 'audit', 'checkpoint', '--kyes')).code).toBe(1);
  });

  it('audit checkpoint says where no checkpoint was cosigned yet', async () => {
    const webhook = await webhookOfTest();
    const finished = await runWebhook(webhook.env, 'audit', 'checkpoint');
    expect(finished).toMatchObject({ code: 1, stdout: '' });
    expect(finished.stderr).toContain('no checkpoint was cosigned yet');
  });

  it('audit reset-checkpoints has a running webhook cosign another history, and logs what it forgot', async () => {
    const { webhook, log, key } = await cosigned();
    const cut = log.upTo(2);
    expect((await cut.send(cut.checkpoint(0))).status).toBe(409);
    expect((await runWebhook(webhook.env, 'audit', 'reset-checkpoints')).code).toBe(0);
    const { json } = await webhook.storage({ op: 'audit.list', limit: 1 });
    const { hash } = log.events[2]!;
    expect(json.items).toMatchObject([
      { source: 'webhook', eventType: 'CHECKPOINTS_RESET', detail: { origin: ORIGIN, size: 3, hash } },
    ]);
    expect((await cut.send(cut.checkpoint(0))).json.key).toBe(key);
    expect((await runWebhook(webhook.env, 'audit', 'verify')).code).toBe(0);
    const again = await webhookOfTest();
    expect((await runWebhook(again.env, 'audit', 'reset-checkpoints')).stdout).toMatch(/nothing is changed/);
  });

  it('a rotation of the root key keeps the key that cosigns', async () => {
    const { webhook, log, key } = await cosigned();
    const next = toBase64url(randomBytes(32));
    const rotated = await runWebhook(
      { ...webhook.env, SV_WEBHOOK_MASTER_KEY_NEXT: next },
      'rotate-master-key',
    );
    expect(rotated.code).toBe(0);
    await webhook.restart({ SV_WEBHOOK_MASTER_KEY: next });
    expect((await log.send(log.checkpoint(3))).json.key).toBe(key);
  });

  it('a restored backup has the key and the checkpoint of its day', async () => {
    const { webhook, log, key } = await cosigned();
    const file = `${webhook.dataDir}/../webhook.backup`;
    expect((await runWebhook(webhook.env, 'backup', file)).code).toBe(0);
    expect((await log.send(log.checkpoint(3))).status).toBe(200);
    const there = { ...webhook.env, SV_WEBHOOK_DATA_DIR: `${webhook.dataDir}/../restored` };
    expect((await runWebhook(there, 'restore-backup', file)).code).toBe(0);
    await webhook.restart(there);
    // Until then a restored webhook refuses all that was signed before.
    webhook.clock.advance(10 * 60_000);
    expect(await log.send(log.checkpoint(5))).toMatchObject({ status: 409, json: { size: 3 } });
    expect((await log.send(log.checkpoint(3))).json.key).toBe(key);
  });
});

it('a checkpoint in a batch is cosigned after the events that the batch appends', async () => {
  const { webhook, log } = await cosigned();
  const longer = log.add(1);
  expect(longer.events.at(-1)?.hash).not.toBe(CHAIN_START);
  const events = [{ ...longer.events.at(-1), vaultId: undefined, seq: undefined, hash: undefined }];
  const { json } = await webhook.storage({ batch: [{ op: 'audit.append', events }, longer.checkpoint(3)] });
  expect(json.results).toMatchObject([{ accepted: 1 }, { cosignature: expect.any(String) }]);
});
