import { expect, test } from 'vitest';
import { defaultContextName, isContextName } from './context-name.ts';

test.each([
  ['https://svault.example.org', 'svault.example.org'],
  ['https://svault.example.org:8443', 'svault.example.org-8443'],
  ['https://svault.example.org/team', 'svault.example.org'],
  ['http://127.0.0.1:8080', '127.0.0.1-8080'],
  ['http://[::1]:8080', '1-8080'],
  ['https://xn--bcher-kva.example', 'xn--bcher-kva.example'],
  [`https://${'a'.repeat(60)}.${'b'.repeat(60)}.example:8443`, `${'a'.repeat(59)}-8443`],
  ['https://_.example', 'example'],
])('a login at %s is called %s', (baseUrl, name) => {
  expect(defaultContextName({ kind: 'admin', baseUrl })).toBe(name);
});

test.each(['svagent_abcd…', 'svagent_-_-_…', 'svagent__A-b…'])(
  'one of an agent with the key %s has a name',
  (keyPrefix) => {
    for (const baseUrl of ['http://[::1]', 'https://a.example', `https://${'a'.repeat(63)}.example:65535`]) {
      const name = defaultContextName({ kind: 'agent', baseUrl, keyPrefix });
      expect(isContextName(name), name).toBe(true);
      expect(name).toMatch(new RegExp(`-agent-${keyPrefix.slice(8, 12)}$`));
    }
  },
);
