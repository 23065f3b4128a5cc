import { describe, expect, test } from 'vitest';
import { fieldArgument, fieldValue, isSecretField, withMember } from './record-members.ts';

describe('--field', () => {
  test.each([
    ['secret=a=b', { path: ['secret'], text: 'a=b' }],
    ['publicKey=', { path: ['publicKey'], text: '' }],
    ['privateKey=@dir/key.pem', { path: ['privateKey'], file: 'dir/key.pem' }],
    ['provider.clientId=c\n1', { path: ['provider', 'clientId'], text: 'c\n1' }],
  ])('%j', (argument, expected) => expect(fieldArgument(argument)).toEqual(expected));

  test.each(['', 'x', '=x', '.x=y', 'a.b.c=d', 'a b=c', '__proto__=x', 'key=@', 'key=@-'])(
    '%j is none',
    (argument) => expect(() => fieldArgument(argument)).toThrow(/^--field/),
  );

  test.each([
    ['minter.durationSeconds=900', 900],
    ['shareRefreshToken=false', false],
    ['minter.scopes=a, b c', ['a', 'b', 'c']],
    ['minter.permissions={"contents":"read"}', { contents: 'read' }],
    ['value=900', '900'],
  ])('%s stands for %j', (argument, value) => {
    const field = fieldArgument(argument);
    expect(fieldValue(field, field.text ?? '')).toEqual(value);
  });

  test.each([
    'digits=6.5',
    'digits=-1',
    'shareRefreshToken=yes',
    'provider={"clientSecret":"quoted"',
    'minter=[]',
  ])('%s stands for nothing, and is not quoted', (argument) => {
    const field = fieldArgument(argument);
    expect(() => fieldValue(field, field.text ?? '')).toThrow(/^--field \w+ is [^"]*$/);
  });

  test('knows which of them show a secret', () => {
    for (const argument of [
      'value=x',
      'minter.secretAccessKey=x',
      'minter={}',
      'provider={}',
      'provider.clientSecret=x',
    ])
      expect(isSecretField(fieldArgument(argument))).toBe(true);
    for (const argument of ['publicKey=x', 'provider.clientId=x', 'minter.type=aws-sts', 'digits=6'])
      expect(isSecretField(fieldArgument(argument))).toBe(false);
  });

  test('stands once', () => {
    const members = withMember({ provider: { clientId: 'c' } }, ['provider', 'tokenUrl'], 'u');
    expect(members).toEqual({ provider: { clientId: 'c', tokenUrl: 'u' } });
    expect(() => withMember(members, ['provider', 'clientId'], 'x')).toThrow(
      'provider.clientId is given twice',
    );
    expect(() => withMember(members, ['provider'], {})).toThrow('provider is given twice');
    expect(() => withMember({ value: 'x' }, ['value', 'y'], 'z')).toThrow('value is given twice');
  });
});
