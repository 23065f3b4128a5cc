import { newKey } from '@svault/shared';
import { expect, test } from 'vitest';
import { AGENT, ORIGIN } from './access-fixture.ts';
import { plainDenial } from './decision.ts';
import { agentDenialEvent } from './record-denial.ts';

const nameIn = (serviceName: string): string | undefined =>
  agentDenialEvent(AGENT, serviceName, plainDenial('NO_GRANT'), ORIGIN).serviceName;

test.each(['svagent', 'svsess', 'svsessr', 'svadmin'] as const)(
  'a denial redacts a key of kind %s that was sent as a service name',
  (kind) => {
    const key = newKey(kind);
    expect(nameIn(key)).toBe(`${kind}_[redacted]`);
    expect(nameIn(`my key is ${key}`)).not.toContain(key.slice(-20));
  },
);

test.each(['github', 'mcp_x', 'svagent', 'Straße 7', 'a=b&c'])(
  'a denial records the service name %s as it is',
  (name) => expect(nameIn(name)).toBe(name),
);
