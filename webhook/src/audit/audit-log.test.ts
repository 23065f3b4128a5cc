import { expect, it } from 'vitest';
import { subjectOf } from './audit-log.ts';

it.each([
  ['agt_1', { agentId: 'agt_1' }],
  ['prx_1', { proxyId: 'prx_1' }],
  ['usr_1', { userId: 'usr_1' }],
])('the log names the subject %s by its kind', (sub, subject) => {
  expect(subjectOf(sub)).toEqual(subject);
});
