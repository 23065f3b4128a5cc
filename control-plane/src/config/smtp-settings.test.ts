import { SettingsError } from '@svault/server-kit/settings';
import { expect, test } from 'vitest';
import { controlPlaneConfig } from './config.ts';

const BASE = { SV_BASE_URL: 'https://svault.example', SV_MASTER_KEY: 'A'.repeat(43) };
const FROM = 'svault@example.org';
const SECRET = 'canary';

const smtpOf = (env: Record<string, string>) => controlPlaneConfig({ ...BASE, ...env }).smtp;
const problemsOf = (env: Record<string, string>): readonly string[] => {
  try {
    smtpOf(env);
    return [];
  } catch (error) {
    if (error instanceof SettingsError) return error.problems;
    throw error;
  }
};

test('there is no mail server unless it is named', () => {
  expect(smtpOf({})).toBeUndefined();
});

test.each([
  'smtp://mail.example.org',
  'smtp://127.0.0.1:2525',
  'smtps://mail.example.org:465/',
  `smtps://user%40example.org:${SECRET}%2F@mail.example.org`,
])('the mail server can be %s', (url) => {
  const smtp = smtpOf({ SV_SMTP_URL: url, SV_SMTP_FROM: FROM });
  expect([smtp?.url.reveal(), smtp?.from]).toEqual([url, FROM]);
  expect(JSON.stringify(smtp)).not.toContain(SECRET);
});

test.each([
  'mail.example.org',
  'https://mail.example.org',
  'smtp://',
  'smtp://mail.example.org/?tls.rejectUnauthorized=false',
  'smtp://mail.example.org/path',
  `smtp://:${SECRET}@mail.example.org`,
  'smtp://user@mail.example.org',
  `smtp://user:${SECRET}%@mail.example.org`,
])('the mail server cannot be %s', (url) => {
  const problems = problemsOf({ SV_SMTP_URL: url, SV_SMTP_FROM: FROM });
  expect(problems).toEqual([expect.stringMatching(/^SV_SMTP_URL must look like/)]);
  expect(problems.join()).not.toContain(SECRET);
});

test('one of the two settings does not come without the other, and the sender is an address', () => {
  const together = ['SV_SMTP_URL and SV_SMTP_FROM come together'];
  expect(problemsOf({ SV_SMTP_URL: 'smtp://mail.example.org' })).toEqual(together);
  expect(problemsOf({ SV_SMTP_FROM: FROM })).toEqual(together);
  expect(problemsOf({ SV_SMTP_URL: 'smtp://mail.example.org', SV_SMTP_FROM: 'svault' })).toEqual([
    'SV_SMTP_FROM must be an e-mail address',
  ]);
});
