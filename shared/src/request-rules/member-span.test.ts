import fc from 'fast-check';
import { expect, it } from 'vitest';
import { utf8 } from '../bytes.ts';
import { memberSpan } from './member-span.ts';

const valueAt = (json: string, path: readonly string[]): unknown => {
  const bytes = Buffer.from(utf8(json));
  const span = memberSpan(bytes, path);
  return span && JSON.parse(bytes.subarray(span.start, span.end).toString());
};

it('A value is found where it is written, whatever stands around it', () => {
  const member = fc.tuple(fc.string({ unit: 'grapheme' }), fc.jsonValue());
  const space = fc.constantFrom('', ' ', '\t', '\n', '\r\n ');
  fc.assert(
    fc.property(
      fc.array(member),
      fc.jsonValue(),
      fc.integer({ min: 0, max: 3 }),
      space,
      (others, value, indent, around) => {
        const object = {
          ...Object.fromEntries(others),
          params: { ...Object.fromEntries(others), _meta: value },
        };
        const json = `${around}${JSON.stringify(object, null, indent)}${around}`;
        expect(valueAt(json, ['params', '_meta'])).toEqual(JSON.parse(JSON.stringify(value)));
      },
    ),
  );
});

it.each([
  ['{"a":{"id":1},"b":"\\"id\\":2","id":3}', ['id'], 3],
  ['{"\\u0069d" : [1, {"x":"]}"}] , "z":0}', ['id'], [1, { x: ']}' }]],
  ['{"id":"a\\\\"}', ['id'], 'a\\'],
  ['{"id":-1.5E+3}', ['id'], -1500],
  ['{"params":[{"_meta":1}]}', ['params', '_meta'], undefined],
  ['{"params":"_meta"}', ['params', '_meta'], undefined],
  ['{"ID":1,"id2":2}', ['id'], undefined],
  ['{}', ['id'], undefined],
])('In %s the member %j is %j', (json, path, value) => {
  expect(valueAt(json, path)).toEqual(value);
});
