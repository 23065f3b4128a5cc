import { test } from 'vitest';
import { expectNoTokenLost } from '../support/expect-no-token-lost.ts';

test('no run of 1,000 mixed refreshes shows a refresh token twice or loses one', () =>
  expectNoTokenLost(1_000));
