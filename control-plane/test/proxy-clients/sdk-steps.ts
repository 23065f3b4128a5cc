import { randomUUID } from 'node:crypto';
import { vi } from 'vitest';
import type { Caller, ConnectCaller } from './callers.ts';
import type { Door } from './door.ts';
import { type Steps, outcome, steady } from './record.ts';

const LARGE_BYTES = 2 * 1024 * 1024;

/** What a run of the list came to, and what crossed to the client. */
export interface Run {
  readonly steps: Steps;
  readonly received: string;
}

/** Everything a client can do with the content of this folder's upstreams, one step after another. */
export async function sdkSteps(connect: ConnectCaller, door: Door): Promise<Run> {
  const steps: Steps = new Map();
  const caller = await connect(door);
  const step = async (name: string, call: (caller: Caller) => Promise<unknown>): Promise<void> => {
    steps.set(name, await outcome(call(caller)));
  };
  const withSession = caller.sessionId() !== undefined;

  steps.set('hello', steady(caller.hello()));
  await step('ping', ({ ping }) => ping());
  await step('list tools', ({ listTools }) => listTools());
  await step('list resources', ({ listResources }) => listResources());
  await step('list templates', ({ listResourceTemplates }) => listResourceTemplates());
  await step('list prompts', ({ listPrompts }) => listPrompts());
  for (const uri of ['memo://one', 'memo://bytes', 'note://7', 'memo://none'])
    await step(`read ${uri}`, ({ readResource }) => readResource(uri));
  await step('prompt', ({ getPrompt }) => getPrompt('say', { topic: 'crème brûlée' }));
  await step('prompt without argument', ({ getPrompt }) => getPrompt('say', {}));
  await step('echo', ({ callTool }) => callTool('echo', { text: 'ünïcode ✓ 漢字 \u2028 \n\r' }));
  await step('add', ({ callTool }) => callTool('add', { a: 1, b: 2.5 }));
  await step('add wrongly', ({ callTool }) => callTool('add', { a: 'x' }));
  await step('everything else', ({ callTool }) => callTool('everything-else'));
  await step('fail', ({ callTool }) => callTool('fail'));
  await step('explode', ({ callTool }) => callTool('explode'));
  await step('unknown tool', ({ callTool }) => callTool('nowhere'));
  await step('large', async ({ callTool }) => digest(await callTool('large', { bytes: LARGE_BYTES })));
  await step('large argument', async ({ callTool }) =>
    digest(await callTool('echo', { text: 'y'.repeat(LARGE_BYTES) })),
  );
  await step('an argument in a header', ({ callTool }) => callTool('by-header', { region: 'Zürich' }));
  await step('progress', async ({ callTool, notifications }) => {
    const progress: unknown[] = [];
    const result = await callTool('steps', { count: 5 }, { onProgress: (told) => progress.push(told) });
    return { result, progress, notifications: notifications.splice(0) };
  });
  await step('cancelled', async ({ callTool }) => {
    const key = randomUUID();
    const leaving = new AbortController();
    const waiting = outcome(callTool('wait', { key }, { signal: leaving.signal }));
    // Another answer is there, so that one was sent.
    await callTool('echo', { text: 'meanwhile' });
    leaving.abort('enough');
    const left = await waiting;
    const told = await vi.waitFor(
      async () => {
        const answer = JSON.stringify(await callTool('was-cancelled', { key }));
        if (!answer.includes('true')) throw new Error(answer);
        return answer;
      },
      { timeout: 20_000 },
    );
    return { left, told };
  });
  await step('twenty at once', ({ callTool }) =>
    Promise.all(Array.from({ length: 20 }, (_, n) => callTool('echo', { text: `call ${n}` }))),
  );
  await step('twenty clients with equal ids', () => equalIds(connect, door));
  if (withSession) await sessionSteps(step);
  steps.set('errors', steady(otherErrors(caller)));
  await caller.close();
  return { steps, received: caller.watched.received() };
}

type Step = (name: string, call: (caller: Caller) => Promise<unknown>) => Promise<void>;

/** What only those have who keep a session: a stream by GET, streams that go on after a cut, an end. */
async function sessionSteps(step: Step): Promise<void> {
  await step('asked back', ({ callTool }) => callTool('ask', { question: 'how much?' }));
  await step('announced', async ({ callTool, notifications, watched }) => {
    notifications.splice(0);
    await vi.waitFor(
      () => {
        if (!watched.exchanges().includes('GET 200 text/event-stream')) throw new Error('no stream yet');
      },
      { timeout: 20_000 },
    );
    const result = await callTool('announce', { text: 'heard' });
    await vi.waitFor(
      () => {
        if (notifications.length === 0) throw new Error('not heard');
      },
      { timeout: 20_000 },
    );
    return { result, notifications: notifications.splice(0) };
  });
  await step('an answer whose stream the server ends', async ({ callTool, notifications }) => {
    const result = await callTool('in-two-parts');
    return { result, notifications: notifications.splice(0) };
  });
  await step('an answer whose connection is cut', async ({ callTool, notifications, watched }) => {
    watched.cutAt('step 2');
    const result = await callTool('steps', { count: 5 });
    return { result, cuts: watched.cuts(), notifications: notifications.splice(0) };
  });
  await step('a GET stream whose connection is cut', async ({ callTool, notifications, watched }) => {
    watched.cutAt('cut here');
    await callTool('announce', { text: 'cut here' });
    await vi.waitFor(
      () => {
        if (notifications.length < 1) throw new Error('not heard');
      },
      { timeout: 20_000 },
    );
    await callTool('announce', { text: 'after that' });
    await vi.waitFor(
      () => {
        if (notifications.length < 2) throw new Error('not heard again');
      },
      { timeout: 20_000 },
    );
    return { cuts: watched.cuts(), notifications: notifications.splice(0) };
  });
  await step('end of the session', async (caller) => {
    await caller.endSession();
    return { session: caller.sessionId() };
  });
}

/** Each client counts its requests from the same number. */
async function equalIds(connect: ConnectCaller, door: Door): Promise<unknown> {
  const callers = await Promise.all(Array.from({ length: 20 }, () => connect(door)));
  const answers = await Promise.all(
    callers.map(({ callTool }, n) => callTool('echo', { text: `caller ${n}` })),
  );
  await Promise.all(callers.map((caller) => caller.close()));
  return answers;
}

/** Which the client itself told of, without those of streams that it takes up again until it may. */
const otherErrors = ({ errors }: Caller): readonly string[] =>
  errors.filter((message) => !/SSE stream|reconnection/.test(message));

const digest = (value: unknown): unknown => {
  const text = JSON.stringify(value);
  return { length: text.length, begin: text.slice(0, 80), end: text.slice(-80) };
};
