import { expect, it } from 'vitest';
import * as z from 'zod';
import { parseBody } from './body.ts';

const schema = z.strictObject({ tokenType: z.string(), value: z.string() });

it('an error names the first invalid member, and whether it is missing, but no value', () => {
  expect(() => parseBody(schema, { tokenType: 'JWT' })).toThrow(/^value: is missing$/);
  expect(() => parseBody(schema, { tokenType: 'JWT', value: 31_337 })).toThrow(/^value: (?!.*31337)/);
  expect(() => parseBody(schema, 'x')).toThrow(/^the body: /);
});
