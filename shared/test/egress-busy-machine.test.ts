import { afterEach, describe, expect, it } from 'vitest';
import { rawAnswer, rawUpstream } from './raw-upstream.ts';
import { Opened, callTo, taken } from './stream-calls.ts';

/** Longer than any time that a call below has. */
const BLOCKED_MS = 1_000;
const TIMEOUT_MS = 300;

describe('after the process was blocked for a while', () => {
  const opened = new Opened();
  afterEach(() => opened.close());

  /** Answers at once. The call's timers are due before anything else is read. */
  const upstream = async () =>
    opened.of(
      await rawUpstream(({ socket }) => {
        socket.write(rawAnswer('at once'));
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BLOCKED_MS);
      }),
    );

  it('a call returns the response that has arrived in the meantime', async () => {
    const { port } = await upstream();
    const { body } = await opened.egress().request({
      method: 'GET',
      url: `http://127.0.0.1:${port}/`,
      timeoutMs: TIMEOUT_MS,
    });
    expect(body.toString()).toBe('at once');
  });

  it('a response is streamed if its head has arrived in the meantime', async () => {
    const { port } = await upstream();
    const { text } = await taken(opened.egress(), callTo(port, { headTimeoutMs: TIMEOUT_MS }));
    expect(text).toBe('at once');
  });
});
