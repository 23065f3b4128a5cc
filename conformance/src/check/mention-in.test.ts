import { describe, expect, test } from 'vitest';
import { mentionIn } from './mention-in.ts';

const facts = {
  webhookUrl: 'https://hook.service.example:8443/in',
  serviceUrl: 'https://service.example',
  ids: ['whk_1234', 'k1', 'webhook', undefined],
  hmacHash: '0123456789abcdef'.repeat(4),
};

describe('is mentioned by', () => {
  test.each([
    ['its address', '<a href="https://service.example/x">', 'https://service.example'],
    ['its host', 'of service.example.', 'service.example'],
    ['its host in capitals', 'Of SERVICE.EXAMPLE', 'service.example'],
    ['its address with escaped slashes', '"https:\\/\\/service.example"', 'https://service.example'],
    ['an id', '{"id":"whk_1234"}', 'whk_1234'],
    ['the fingerprint', '0123 4567 89ab cdef', '0123 4567 89ab cdef'],
    ['the fingerprint in pieces', '<b>0123</b>-<b>4567</b>-<b>89AB</b>-<b>CDEF</b>', '0123 4567 89ab cdef'],
    ['the hash', facts.hmacHash, '0123 4567 89ab cdef'],
  ])('%s', (_, text, returned) => {
    expect(mentionIn(text, facts)).toBe(returned);
  });
});

describe('is not mentioned by', () => {
  test.each([
    ['the webhook’s own address', 'https://hook.service.example:8443/in/bind'],
    ['another host that ends alike', 'https://myservice.example'],
    ['another port', 'http://service.example:8080'],
    ['an id too short to be told from chance', '{"uptime":"k1"}'],
    ['an id that is a word', 'Bind this webhook'],
    ['nothing', ''],
  ])('%s', (_, text) => {
    expect(mentionIn(text, facts)).toBeUndefined();
  });

  test('an address that is also the webhook’s own', () => {
    const same = { ...facts, webhookUrl: 'https://service.example/hook' };
    expect(mentionIn('<form action="https://service.example/hook/bind">', same)).toBeUndefined();
  });
});
