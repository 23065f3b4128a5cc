import { expect, test } from 'vitest';
import { Failure } from '../failure.ts';
import { parseBaseUrl } from './service-address.ts';

test.each([
  'https://ada:hunter2@svault.example.org',
  'https://ada:hunter2/@svault.example.org',
  'https://hunter2@svault.example.org/a@b',
  'ada:hunter2@svault.example.org',
  'https://svault.example.org/?key=hunter2',
  'https://svault.example.org/#hunter2',
])('%s is refused, and no secret in it is said again', (text) => {
  expect(() => parseBaseUrl(text)).toThrow(Failure);
  try {
    parseBaseUrl(text);
  } catch (error) {
    expect(String(error)).not.toContain('hunter2');
  }
});
