import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { type AnswerHead, EgressFailed, type EgressStream } from '@svault/shared/egress';
import { RedirectFailed, isFollowable, streamFollowing } from './follow-redirects.ts';

const CALL: EgressStream = {
  method: 'GET',
  url: 'https://api.test/v1',
  target: "/v1/a'b?key=secret",
  headers: { authorization: 'secret' },
  headTimeoutMs: 28_000,
  idleTimeoutMs: 1_000,
  partition: 'prx_1',
};
type Answers = Readonly<Record<string, readonly [status: number, location?: string]>>;

/** Fakes the network, as the egress client would accept no certificate of an https upstream here. */
async function follow(answers: Answers, call = CALL) {
  const calls: EgressStream[] = [];
  const taken: AnswerHead[] = [];
  const stream = async (each: EgressStream, take: (head: AnswerHead) => Writable): Promise<void> => {
    calls.push(each);
    const answer = answers[each.url];
    if (answer === undefined) throw new EgressFailed('connect');
    const [status, location] = answer;
    const taker = take({ status, fields: location === undefined ? [] : [['location', location]] });
    if (taker.destroyed) throw new EgressFailed('aborted');
  };
  const failed = await streamFollowing(
    { stream },
    call,
    (head) => head,
    (head) => {
      taken.push(head);
      return new Writable();
    },
  ).then(
    () => undefined,
    (error: unknown) => error,
  );
  return { urls: calls.map(({ url }) => url), calls, taken, failed };
}

describe('a redirect', () => {
  it('is followed with only the method and the timeouts of the call, on a separate connection', async () => {
    const { calls, taken, failed } = await follow({
      'https://api.test/v1': [302, 'https://files.test/f#part'],
      'https://files.test/f#part': [200],
    });
    const { headTimeoutMs, ...hop } = calls[1]!;
    expect(hop).toEqual({
      method: 'GET',
      url: 'https://files.test/f#part',
      headers: { 'accept-encoding': 'identity' },
      idleTimeoutMs: 1_000,
      partition: 'prx_1 redirects',
    });
    expect(headTimeoutMs).toBeGreaterThan(0);
    expect(headTimeoutMs).toBeLessThanOrEqual(28_000);
    expect([taken.map(({ status }) => status), failed]).toEqual([[200], undefined]);
  });

  it.each([
    ['http://files.test/', ['https://api.test/v1']],
    ['//files.test/plain', ['https://api.test/v1', 'https://files.test/plain']],
  ])('from https to %s never ends in plain http', async (location, urls) => {
    const { failed, ...followed } = await follow({
      'https://api.test/v1': [307, location],
      'https://files.test/plain': [307, 'http://files.test/'],
      'http://files.test/': [200],
    });
    expect([followed.urls, followed.taken]).toEqual([urls, []]);
    expect(failed).toBeInstanceOf(RedirectFailed);
  });

  it('from plain http may lead to https and back', async () => {
    const { taken } = await follow(
      {
        'http://api.test/': [301, 'https://api.test/'],
        'https://api.test/': [301, 'http://other.test/'],
        'http://other.test/': [200],
      },
      { ...CALL, url: 'http://api.test/', target: '/' },
    );
    expect(taken).toHaveLength(1);
  });

  it('leads to another origin if its port or its scheme differs', async () => {
    for (const location of ['https://api.test:8443/', 'http://api.test/'])
      expect((await follow({ 'https://api.test/v1': [302, location] })).taken).toEqual([]);
    for (const location of ['https://API.test:443/', '/x', '?y', '', '//api.test/'])
      expect((await follow({ 'https://api.test/v1': [302, location] })).taken).toHaveLength(1);
  });

  it('that times out fails as the call itself would', async () => {
    const stream = (call: EgressStream, take: (head: AnswerHead) => Writable): Promise<void> => {
      if (call.partition !== CALL.partition) return Promise.reject(new EgressFailed('timeout'));
      take({ status: 302, fields: [['location', 'https://slow.test/']] });
      return Promise.reject(new EgressFailed('aborted'));
    };
    const following = streamFollowing(
      { stream },
      CALL,
      (head) => head,
      () => new Writable(),
    );
    await expect(following).rejects.toMatchObject({ kind: 'timeout' });
  });
});

it('calls without a body whose method is GET or HEAD may follow', () => {
  expect(['GET', 'HEAD', 'POST', 'OPTIONS', 'PROPFIND'].filter((method) => isFollowable({ method }))).toEqual(
    ['GET', 'HEAD'],
  );
  expect(isFollowable({ method: 'GET', body: new Uint8Array(1) })).toBe(false);
});
