import { describe, expect, it } from 'vitest';
import { isPlaceholder, judged } from './is-secret.ts';

const VALUE = 'Vb7mQ2xK9pLd4RtY8wZc';

describe('a setting is judged by its name', () => {
  it.each([
    ...[
      'API_TOKEN',
      'apiKey',
      'api-key',
      'DB_PASSWORD',
      'db.password',
      'PGPASSWORD',
      'GITHUB_PAT',
      'SENTRY_DSN',
    ],
    ...['NPM_AUTH', 'STRIPE_KEY', 'SESSION_SECRET', 'X-Api-Key', 'AWS_SECRET_ACCESS_KEY', 'SMTP_PASS'],
  ])('%s is a secret', (name) => expect(judged(name, VALUE)).toBe('secret'));

  it.each([
    ...[
      'NODE_ENV',
      'HOST',
      'AWS_ACCESS_KEY_ID',
      'TOKEN_URL',
      'KEY_FILE',
      'SECRET_PATH',
      'MAX_TOKENS',
      'TOKEN_TTL',
    ],
    ...[
      'STRIPE_PUBLISHABLE_KEY',
      'NEXT_PUBLIC_API_KEY',
      'VITE_TOKEN',
      'PUBLIC_KEY',
      'KEYBOARD',
      'COMPASS',
      'MONKEY',
    ],
    ...['SV_MASTER_KEY', 'SVAULT_KEY'],
  ])('%s is none', (name) => expect(judged(name, VALUE)).toBe('other'));
});

describe('a value of a known form is a secret whatever its name', () => {
  it.each([
    'ghp_0123456789abcdefghij0123456789abcdef',
    'github_pat_11ABCDEFG0abcdefghij',
    'sk-proj-0123456789abcdef',
    'sk_live_0123456789abcdef',
    'xoxb-123456789012-abcdef',
    'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln',
    '-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----',
    'postgres://shop:Jh4kPz9Qm2@db.example.com/shop',
    'amqps://:Jh4kPz9Qm2@mq.example.com',
  ])('%s', (value) => expect(judged('SETTING', value)).toBe('secret'));

  it.each([
    'https://shop.example.com',
    'https://ada@shop.example.com/',
    'postgres://shop:password@localhost/shop',
    'postgres://shop:${DB_PASSWORD}@db/shop',
    'sk-short',
  ])('%s is none', (value) => expect(judged('SETTING', value)).toBe('other'));
});

it.each([
  ...[
    '',
    '  ',
    'changeme',
    'CHANGE_ME',
    'change-it',
    'xxx',
    'XXXXXXXX',
    'sk-xxxxxxxx',
    '****',
    '<token>',
    '[token]',
  ],
  ...[
    'your-api-key',
    'your_token_here',
    'put it-here',
    'TODO',
    'example',
    'secret',
    'password',
    '...',
    '0000',
  ],
  ...[
    '${TOKEN}',
    '${env:TOKEN}',
    '${input:token}',
    '${TOKEN:-none}',
    'Bearer ${TOKEN}',
    '$TOKEN',
    '$(pass token)',
  ],
  ...['%TOKEN%', 'op://Work/GitHub/token', '{{ token }}'],
])('%j is a placeholder', (value) => {
  expect(isPlaceholder(value)).toBe(true);
  expect(judged('API_TOKEN', value)).toBe('other');
});

it.each([
  'pa$word-of-mine',
  'p{a}ss',
  'correct horse',
  'my-real-one-9f',
  '$2b$10$abcdefghij',
  'a:b@c',
  'xX9.xX9',
])('%j is a value', (value) => expect(judged('PASSWORD', value)).toBe('secret'));

it.each([`svagent_${'A'.repeat(43)}`, `svadmin_${'A'.repeat(43)}`, `mcp_${'A'.repeat(43)}`])(
  'a key of svault is known as one: %s',
  (value) => expect(judged('API_TOKEN', value)).toBe('svault'),
);

it.each(['true', 'off', '8080', 'auto'])('a switch is no secret: %s', (value) =>
  expect(judged('AUTH', value)).toBe('other'),
);
