import { newKey } from '@svault/shared';
import { expect, test } from 'vitest';
import { agentDenialEvent } from './record-denial.ts';
import { plainDenial } from './decision.ts';
import { AccessStage } from './staged-access.ts';

const { subject } = new AccessStage();
const nameIn = (serviceName: string): string | undefined =>
  agentDenialEvent(subject, serviceName, plainDenial('NO_GRANT')).serviceName;

test.each(['svagent', 'svsess', 'svsessr', 'svadmin'] as const)(
  'a key of kind %s that was sent in the place of a name is not written down',
  (kind) => {
    const key = newKey(kind);
    expect(nameIn(key)).toBe(`${kind}_[redacted]`);
    expect(nameIn(`my key is ${key}`)).not.toContain(key.slice(-20));
  },
);

test.each(['github', 'mcp_x', 'svagent', 'Straße 7', 'a=b&c'])('the name %s is written as it is', (name) => {
  expect(nameIn(name)).toBe(name);
});
