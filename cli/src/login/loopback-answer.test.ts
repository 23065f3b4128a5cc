import { expect, test } from 'vitest';
import { loopbackAnswer } from './loopback-answer.ts';

const read = (query: string): unknown => loopbackAnswer(new URLSearchParams(query), 'mine');

test('a code, or that a person said no', () => {
  expect(read('state=mine&code=svc-1')).toEqual({ code: 'svc-1' });
  expect(read('state=mine&error=access_denied')).toEqual({ denied: true });
});

test.each([
  ['of another sign-in', 'state=theirs&code=x'],
  ['of none', 'code=x'],
  ['with its state twice', 'state=mine&state=theirs&code=x'],
  ['with two codes', 'state=mine&code=x&code=y'],
  ['with an empty code', 'state=mine&code='],
  ['with a code that is no such thing', 'state=mine&code=a%0Ab'],
  ['with a code longer than any', `state=mine&code=${'a'.repeat(1_025)}`],
  ['with a code and an error', 'state=mine&code=x&error=server_error'],
  ['with a code and a no', 'state=mine&code=x&error=access_denied'],
  ['with another error, which is not a person’s', 'state=mine&error=server_error'],
  ['with nothing', 'state=mine'],
])('none is what comes %s', (_how, query) => {
  expect(read(query)).toBeUndefined();
});
