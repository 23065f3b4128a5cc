/** R31: SIGTERM under load loses nothing that was answered or taken, and the process is gone with 0. */
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ManualClock, randomToken } from '@svault/shared';
import { type Asked, type KeptCaller, callerByAgent, callerByFetch } from '@svault/test-kit/ask-until-told';
import { type BoundWebhook, boundWebhook } from './support/bound-webhook.ts';
import { PROXY_PATH, putProxy, signedHeaders } from './support/proxy-calls.ts';
import { serveProcess } from './support/run-webhook.ts';
import { setToNow } from './support/store-until-killed.ts';
import { type Upstream, startUpstream } from './support/upstream.ts';

const CALLERS = 32;
const ANSWERS_BEFORE = 1_000;
const ROUNDS = 3;
/** So many answers of each caller come within the drain on a busy machine, too. */
const FEW = 2;
const EVENTS = ['data: 1\n\n', 'data: 2\n\n', 'data: 3\n\n'];

let webhook: BoundWebhook;
let upstream: Upstream;
beforeAll(async () => {
  upstream = await startUpstream((_req, res) => {
    // Kept, it would be closed after 5 s by a busy process in the moment in which the next call comes on it.
    res.writeHead(200, { 'content-type': 'text/event-stream', connection: 'close' });
    const events = async function* () {
      for (const event of EVENTS) {
        yield event;
        await nextTurn();
      }
    };
    Readable.from(events()).pipe(res);
  });
  const env = { SV_EGRESS_ALLOW: '127.0.0.1/32', SV_DRAIN_SECONDS: '2' };
  webhook = await boundWebhook({ clock: new ManualClock(Date.now()), env });
  await webhook.store('api', {
    tokenType: 'PlainText',
    value: 'tkn_under_load_0189',
    allowedHosts: [upstream.url],
  });
  await putProxy(webhook, upstream.url);
});
afterAll(async () => {
  await webhook.remove();
  await upstream.close();
});

type Kind = 'CREDENTIAL_STORED' | 'CREDENTIAL_DELIVERED' | 'CREDENTIAL_INJECTED';

/** What one caller has, and knows of it. */
interface Owned {
  readonly serviceName: string;
  /** Stored last, of what was answered. */
  value: string;
  /** Of the last credential that came. */
  usedTicket: string;
}

interface Step {
  readonly kind: Kind;
  readonly asked: Asked;
  /** Looks at the text of the answer, which was 200. */
  readonly answered: (text: string) => void;
}

const storeStep = (owned: Owned): Step => {
  const value = randomToken();
  const authorization = `Bearer ${webhook.storeTicket(owned.serviceName)}`;
  const body = JSON.stringify({ tokenType: 'PlainText', value });
  const headers = { authorization, 'content-type': 'application/json' };
  const asked = { method: 'POST', path: '/v1/store', headers, body };
  return { kind: 'CREDENTIAL_STORED', asked, answered: () => void (owned.value = value) };
};
const fetchStep = (owned: Owned): Step => {
  const ticket = webhook.credentialTicket(owned.serviceName);
  const answered = (text: string): void => {
    expect(text).toContain(owned.value);
    owned.usedTicket = ticket;
  };
  return { kind: 'CREDENTIAL_DELIVERED', asked: { path: `/v1/credential?ticket=${ticket}` }, answered };
};
const callStep = (): Step => {
  const body = '{}';
  const asked = { method: 'POST', path: PROXY_PATH, headers: signedHeaders(webhook, { body }), body };
  return {
    kind: 'CREDENTIAL_INJECTED',
    asked,
    answered: (text) => expect(text).toBe(EVENTS.join('')),
  };
};
const STEPS = [storeStep, fetchStep, callStep];

/** What the log has of each kind that succeeded. */
function logged(): Record<Kind, number> {
  const db = new Database(join(webhook.dataDir, 'webhook.db'), { readonly: true });
  const count = db
    .prepare<[Kind], number>(`SELECT count(*) FROM audit_log WHERE event_type = ? AND outcome = 'success'`)
    .pluck();
  const counts = {
    CREDENTIAL_STORED: count.get('CREDENTIAL_STORED') ?? 0,
    CREDENTIAL_DELIVERED: count.get('CREDENTIAL_DELIVERED') ?? 0,
    CREDENTIAL_INJECTED: count.get('CREDENTIAL_INJECTED') ?? 0,
  };
  db.close();
  return counts;
}

/**
 * Load from all callers on a process of its own, SIGTERM in the middle of it; then each answer is looked for.
 *
 * @param patience how many answers that close a caller takes before it goes elsewhere; it goes, too, where nobody
 *   listens
 * @returns how often which failure was seen
 */
async function loadAndStop(patience: number): Promise<Readonly<Record<string, number>>> {
  await webhook.stop();
  const expected = logged();
  const serving = await serveProcess(webhook.env);
  const failures: Record<string, number> = {};
  let answers = 0;
  let ended: Promise<number | null> | undefined;
  const all = Array.from({ length: CALLERS }, () => ({
    serviceName: randomToken(),
    value: '',
    usedTicket: '',
  }));
  const work = async (owned: Owned, caller: KeptCaller): Promise<void> => {
    let closes = 0;
    for (let at = 0; closes < patience; at++) {
      setToNow(webhook);
      const { kind, asked, answered } = (STEPS[at % STEPS.length] ?? storeStep)(owned);
      const told = await caller.ask(asked);
      if ('failure' in told) {
        if (told.failure === 'refused') break;
        failures[told.failure] = (failures[told.failure] ?? 0) + 1;
        continue;
      }
      expect([kind, told.status, told.status === 200 ? '' : told.text]).toEqual([kind, 200, '']);
      answered(told.text);
      expected[kind] += 1;
      if (told.closes) closes += 1;
      answers += 1;
      if (answers === ANSWERS_BEFORE) ended = serving.end('SIGTERM');
    }
    caller.end();
  };
  await Promise.all(
    all.map((owned, index) => work(owned, (index % 2 === 0 ? callerByAgent : callerByFetch)(serving.url))),
  );
  expect(answers).toBeGreaterThan(ANSWERS_BEFORE);
  expect(await ended).toBe(0);
  expect(logged()).toEqual(expected);
  await webhook.restart();
  setToNow(webhook);
  for (const { serviceName, value, usedTicket } of all) {
    expect((await webhook.credential(serviceName)).text).toContain(value);
    expect((await webhook.send(`/v1/credential?ticket=${usedTicket}`)).status).toBe(401);
  }
  return failures;
}

test('a caller that reconnects when it is told to close loses nothing: each answered step is stored, consumed and logged', async () => {
  for (let round = 0; round < ROUNDS; round++) expect(await loadAndStop(FEW)).toEqual({});
});

test('a caller that keeps connecting until the webhook is gone gets each response complete; unanswered requests have no effect', async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const { new: _fresh, ...others } = await loadAndStop(Infinity);
    expect(others).toEqual({});
  }
});
