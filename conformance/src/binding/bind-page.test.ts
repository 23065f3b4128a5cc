import { expect, test } from 'vitest';
import { formsOf } from './bind-page.ts';

test('a form is read as a browser would send it, however its HTML is written', () => {
  const html = `<p>Hello</p><FORM action='/a?b=1&amp;c=2' METHOD = "Post">
    <input type="hidden" name=csrf value="x&quot;y">
    <Input TYPE=password required name='token' autofocus>
    <input type=submit value=Go></form>`;
  expect(formsOf(html)).toEqual([
    { method: 'post', action: '/a?b=1&c=2', fields: [['csrf', 'x"y']], tokenField: 'token' },
  ]);
});

test('a form that says nothing is sent by GET to its own page', () => {
  expect(formsOf('<form><input name=token></form>')).toEqual([
    { method: 'get', action: undefined, fields: [], tokenField: 'token' },
  ]);
});

test('a form without a field to fill in asks for nothing', () => {
  expect(formsOf('<form method=post><input type=hidden name=a value=b><button>Go</button>')).toEqual([
    { method: 'post', action: undefined, fields: [['a', 'b']], tokenField: undefined },
  ]);
});

test('a page without a form has none', () => {
  expect(formsOf('{"status":"ok"}')).toEqual([]);
});
