import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { utf8 } from './bytes.ts';
import { JsonRefused, parseJsonObject, parseJsonValue, parseWireObject } from './json.ts';

const reasonFor = (bytes: Uint8Array): string => {
  try {
    parseJsonObject(bytes);
    return 'accepted';
  } catch (error) {
    if (error instanceof JsonRefused) return error.reason;
    throw error;
  }
};
const reason = (text: string): string => reasonFor(utf8(text));
const nested = (depth: number): string => `${'{"a":'.repeat(depth - 1)}{}${'}'.repeat(depth - 1)}`;

describe('strict JSON', () => {
  it('parses what JSON.parse parses', () => {
    const text = '{"a":[1,-2.5,1.5e-3,true,false,null,"x\\u00e9\\n\\"\\\\:{"],"b":{},"":"empty name"}';
    expect(parseJsonObject(utf8(text))).toEqual(JSON.parse(text));
  });

  it.each([
    ['bom', '\ufeff{}'],
    ['syntax', ''],
    ['syntax', '{'],
    ['syntax', '{"a":1,}'],
    ['syntax', "{'a':1}"],
    ['syntax', '{"a":1}{}'],
    ['syntax', '{"a":"unfinished'],
    ['syntax', '{"a":01}'],
    ['syntax', '{"a":1.5.5}'],
    ['syntax', '{"a":NaN}'],
    ['not_an_object', '[]'],
    ['not_an_object', 'null'],
    ['not_an_object', '"{}"'],
    ['duplicate_name', '{"a":1,"a":1}'],
    ['duplicate_name', '{"a":{"b":1,"c":2,"b":3}}'],
    ['duplicate_name', '{"a":[{"b":1,"b":null}]}'],
    ['duplicate_name', '{"a":1,"\\u0061":2}'],
    ['forbidden_name', '{"__proto__":{"admin":true}}'],
    ['forbidden_name', '{"a":{"\\u005f_proto__":1}}'],
    ['number', '{"a":1.0}'],
    ['number', '{"a":1e3}'],
    ['number', '{"a":[2E0]}'],
    ['number', '{"a":1.50e1}'],
    ['number', '{"a":10e-1}'],
    ['number', '{"a":1e-0}'],
    ['number', '{"a":-1.0e-400}'],
    ['number', '{"a":4503599627370497.5}'],
    ['number', '{"a":0.00}'],
    ['number', '{"a":9007199254740992}'],
    ['number', '{"a":-9007199254740993}'],
    ['number', '{"a":1e400}'],
    ['lone_surrogate', '{"a":"\\ud800"}'],
    ['lone_surrogate', '{"\\udc00":1}'],
  ])('rejects with %s: %j', (wanted, text) => {
    expect(reason(text)).toBe(wanted);
  });

  it('parses fractions in every notation', () => {
    const text = '[0.5,-0.25,15e-1,1.5E-7,0.10,1e-300,123456789012345.25,9.5e0,2.50e-10,1.25e1]';
    expect(parseJsonValue(utf8(text))).toEqual(JSON.parse(text));
  });

  it('rejects bytes that are not UTF-8', () => {
    expect(reasonFor(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]))).toBe('utf8');
    expect(reasonFor(Buffer.from('7b22c0a2223a317d', 'hex'))).toBe('utf8');
  });

  it('treats names as case-sensitive, and colons, braces and quotes in strings as text', () => {
    expect(reason('{"a":":{[\\":","A":"}]"}')).toBe('accepted');
  });

  it('allows the same name once in each of many objects', () => {
    expect(reason('{"a":{"n":1},"b":{"n":1},"n":[{"n":1},{"n":1}]}')).toBe('accepted');
  });

  it('accepts 32 levels of nesting and rejects 33', () => {
    expect(reason(nested(32))).toBe('accepted');
    expect(reason(nested(33))).toBe('depth');
    expect(reason(`{"a":${'['.repeat(31)}${']'.repeat(31)}}`)).toBe('accepted');
    expect(reason(`{"a":${'['.repeat(32)}${']'.repeat(32)}}`)).toBe('depth');
  });

  it('rejects a megabyte of any kind of input (R7)', () => {
    const MIB = 1024 * 1024;
    expect(reason('['.repeat(MIB))).toBe('depth');
    expect(reason('{"a":'.repeat(MIB / 5))).toBe('depth');
    expect(reason(']'.repeat(MIB))).toBe('syntax');
    expect(reason('"'.repeat(MIB))).toBe('syntax');
    expect(reason('\\'.repeat(MIB))).toBe('syntax');
    expect(reason('1.'.repeat(MIB / 2))).toBe('syntax');
    expect(reason('1e'.repeat(MIB / 2))).toBe('syntax');
    expect(reason(':'.repeat(MIB))).toBe('syntax');
    expect(reason(`{"a":${'9'.repeat(MIB)}}`)).toBe('number');
  });

  it('does not change the prototype of objects', () => {
    parseJsonObject(utf8('{"constructor":{"prototype":{"polluted":1}},"toString":1}'));
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  it('accepts all numbers of RFC 8259 if asked to, and stays as strict about the rest', () => {
    const any = (text: string): unknown => parseJsonValue(utf8(text), { numbers: 'any' });
    expect(any('[1.0,1e3,9007199254740993,-0,1.5E-3]')).toEqual([1, 1000, 9007199254740992, -0, 0.0015]);
    for (const text of ['{"a":1e400}', '{"a":1,"a":1}', '{"__proto__":1}', '"\\ud800"', '01', '1.5.5'])
      expect(() => any(text)).toThrow(JsonRefused);
    expect(() => any(nested(33))).toThrow(JsonRefused);
  });

  it('counts members and elements before it creates objects', () => {
    const bounded = (text: string): unknown => parseJsonValue(utf8(text), { maxCommas: 3 });
    for (const text of ['[1,2,3,4]', '{"a":1,"b":[2,3],"c":"1,2,3,4,5"}', '[[1],[2],[3],[4]]'])
      expect(bounded(text)).toEqual(JSON.parse(text));
    for (const text of ['[1,2,3,4,5]', '{"a":1,"b":[2,3],"c":{"d":4,"e":5}}', ',,,,'])
      expect(() => bounded(text)).toThrow('values');
  });

  it('treats null as absent where the wire format says so, at any depth, and nowhere else', () => {
    const text = utf8('{"a":null,"b":{"c":null,"d":0},"e":[null,{"f":null}]}');
    expect(parseWireObject(text)).toEqual({ b: { d: 0 }, e: [null, {}] });
    expect(() => parseWireObject(utf8('{"a":null,"a":null}'))).toThrow('duplicate_name');
    expect(parseJsonObject(text)).toHaveProperty('a', null);
    expect(parseJsonValue(utf8('[null]'))).toEqual([null]);
  });

  it('parses generated JSON as JSON.parse does', () => {
    const name = fc.string().filter((text) => text !== '__proto__');
    const leaf = fc.oneof(
      fc.boolean(),
      fc.constant(null),
      fc.string(),
      fc.maxSafeInteger(),
      fc.constant(2.5),
    );
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof({ maxDepth: 6 }, leaf, fc.array(tie('value')), fc.dictionary(name, tie('value'))),
    }));
    fc.assert(
      fc.property(fc.dictionary(name, value), fc.constantFrom(undefined, 1, '\t'), (object, indent) => {
        const text = JSON.stringify(object, null, indent);
        expect(parseJsonObject(utf8(text))).toEqual(JSON.parse(text));
      }),
    );
  });

  it('throws only its own error, for any bytes', () => {
    const jsonish = fc.array(fc.constantFrom(...'{}[]":,.eE+-019\\ utnrfalse\u0000é'.split('')), {
      maxLength: 40,
    });
    fc.assert(fc.property(fc.uint8Array(), (bytes) => reasonFor(bytes) !== ''));
    fc.assert(
      fc.property(jsonish, (parts) => reason(parts.join('')) !== ''),
      { numRuns: 2000 },
    );
  });
});
