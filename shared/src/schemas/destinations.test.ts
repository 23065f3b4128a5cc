import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isAllowedDestination, isAllowedHost } from '../allowed-hosts.ts';
import {
  areHeaderTemplates,
  headerTemplatesSchema,
  outgoingUrlSchema,
  parseOutgoingUrl,
} from './destinations.ts';

const name = fc.oneof(
  fc.constantFrom(
    'authorization',
    'Authorization',
    'x-key',
    'host',
    'SV-ticket',
    'proxy-x',
    'a b',
    '',
    'x'.repeat(129),
  ),
  fc.string({ maxLength: 8 }),
);
const value = fc.oneof(
  fc.constantFrom<unknown>('Bearer ${TOKEN}', 'a\r\nb', 'ü', 'x'.repeat(4097), 1, null, undefined, {}),
  fc.string({ maxLength: 8 }),
);

it('Header templates are taken and rejected as by their schema', () => {
  const templates = fc.oneof(
    fc.array(fc.tuple(name, value), { maxLength: 4 }).map((members) => Object.fromEntries(members)),
    fc
      .nat({ max: 24 })
      .map((count) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`x-${at}`, 'v']))),
    fc.anything(),
  );
  fc.assert(
    fc.property(templates, (given) => {
      expect(areHeaderTemplates(given)).toBe(headerTemplatesSchema.safeParse(given).success);
    }),
    { numRuns: 1_000 },
  );
});

const HOSTS = [
  'api.test',
  'API.test',
  'bücher.test',
  '127.0.0.1',
  '127.1',
  '[::1]',
  '[::0001]',
  'a_b.test',
  'x.',
  '*',
];
const PORTS = ['', ':80', ':443', ':8443', ':0', ':065', ':70000', ':'];
const origin = fc.tuple(fc.constantFrom(...HOSTS), fc.constantFrom(...PORTS)).map((parts) => parts.join(''));
const url = fc
  .tuple(
    fc.constantFrom('https://', 'http://', 'HTTP://', 'ftp://', ''),
    fc.constantFrom('', '', 'u@', '@', 'u:p@'),
    origin,
  )
  .chain(([scheme, user, host]) =>
    fc
      .constantFrom('', '/', '/a?b', '/#c', '/ d', '\\e', `/${'f'.repeat(2048)}`)
      .map((path) => scheme + user + host + path),
  );

it('An upstream URL is taken and rejected as by its schema', () => {
  fc.assert(
    fc.property(fc.oneof(url, fc.webUrl(), fc.string()), (text) => {
      const parsed = parseOutgoingUrl(text);
      expect(parsed !== undefined).toBe(outgoingUrlSchema.safeParse(text).success);
      expect(parsed?.href).toBe(parsed && new URL(text).href);
    }),
    { numRuns: 1_000 },
  );
});

it('An entry of allowedHosts allows the URLs whose scheme, host and port are its own, and no others', () => {
  const DEFAULT_PORTS: Record<string, string> = { 'https:': '443', 'http:': '80' };
  const entry = fc.tuple(fc.constantFrom('', 'http://', 'https://'), origin).map((parts) => parts.join(''));
  fc.assert(
    fc.property(url, entry, (text, allowed) => {
      const target = parseOutgoingUrl(text);
      fc.pre(target !== undefined);
      const written = allowed.startsWith('http://') ? allowed : `https://${allowed}`;
      const named = isAllowedHost(allowed) && allowed !== '*' ? new URL(written) : undefined;
      const isSame =
        named?.protocol === target.protocol &&
        named.hostname === target.hostname &&
        (named.port || DEFAULT_PORTS[named.protocol]) === (target.port || DEFAULT_PORTS[target.protocol]);
      expect(isAllowedDestination(target, [allowed])).toBe(
        isSame || (allowed === '*' && target.protocol === 'https:'),
      );
    }),
    { numRuns: 2_000 },
  );
});
