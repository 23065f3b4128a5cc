import { expect, test } from 'vitest';
import { formsOf } from './bind-page.ts';

test('a form is submitted as a browser would, in any HTML spelling', () => {
  const html = `<p>Hello</p><FORM action='/a?b=1&amp;c=2' METHOD = "Post">
    <input type="hidden" name=csrf value="x&quot;y">
    <Input TYPE=password required name='token' autofocus>
    <input type=submit value=Go></form>`;
  expect(formsOf(html)).toEqual([
    { method: 'post', action: '/a?b=1&c=2', fields: [['csrf', 'x"y']], tokenField: 'token' },
  ]);
});

test('a form without attributes is submitted by GET to its own page', () => {
  expect(formsOf('<form><input name=token></form>')).toEqual([
    { method: 'get', action: undefined, fields: [], tokenField: 'token' },
  ]);
});

test('a form without an input field needs no value', () => {
  expect(formsOf('<form method=post><input type=hidden name=a value=b><button>Go</button>')).toEqual([
    { method: 'post', action: undefined, fields: [['a', 'b']], tokenField: undefined },
  ]);
});

test('a page without a form has none', () => {
  expect(formsOf('{"status":"ok"}')).toEqual([]);
});
