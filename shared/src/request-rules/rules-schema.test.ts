import { describe, expect, it } from 'vitest';
import { requestRuleSchema, requestRulesSchema } from './rules-schema.ts';

const paths = ['/a'];
const methods = ['GET'];
const tools = ['get_*'];
const many = (count: number): string[] => Array.from({ length: count }, (_, at) => `A${at}`);
const pointers = (count: number): object => Object.fromEntries(many(count).map((name) => [`/${name}`, [1]]));

const isRule = (value: unknown): boolean => requestRuleSchema.safeParse(value).success;
const areRules = (value: unknown): boolean => requestRulesSchema.safeParse(value).success;

describe('requestRuleSchema', () => {
  it.each([
    { methods, paths },
    {
      methods: ['GET', 'PROPFIND'],
      hosts: ['api.example', 'http://127.0.0.1:8080', '[::1]'],
      paths: ['/**'],
    },
    { tools, paths },
    { tools: ['*'], paths, arguments: { '/repo': ['a', 1, -1, true, null], '/': [''], '/a~0b/~1': [0] } },
    { mcp: ['resources/*'], paths },
    { tools, paths, arguments: pointers(20) },
    { tools, paths, arguments: { '/a': ['a'.repeat(1000), Number.MAX_SAFE_INTEGER] } },
    { tools: ['a'.repeat(200)], paths: many(50).map((name) => `/${name}`) },
  ])('takes %j', (rule) => {
    expect(isRule(rule)).toBe(true);
  });

  it.each([
    ['without paths', { methods }],
    ['without methods, tools and mcp', { paths }],
    ['with methods and tools', { methods, tools, paths }],
    ['with tools and mcp', { tools, mcp: ['*'], paths }],
    ['with methods and arguments', { methods, paths, arguments: { '/a': [1] } }],
    ['with mcp and arguments', { mcp: ['*'], paths, arguments: { '/a': [1] } }],
    ['with a member that is misspelt', { methods, paths, host: ['api.example'] }],
    ['with an empty list of paths', { methods, paths: [] }],
    ['with an empty list of methods', { methods: [], paths }],
    ['with an empty list of tools', { tools: [], paths }],
    ['with an empty list of hosts', { methods, hosts: [], paths }],
    ['with arguments that name nothing', { tools, paths, arguments: {} }],
    ['with an argument without values', { tools, paths, arguments: { '/a': [] } }],
    ['with 21 pointers', { tools, paths, arguments: pointers(21) }],
    ['with 101 values', { tools, paths, arguments: { '/a': many(101) } }],
    ['with 51 paths', { methods, paths: many(51).map((name) => `/${name}`) }],
    ['with 51 tools', { tools: many(51), paths }],
    ['with 21 methods', { methods: Array.from({ length: 21 }, () => 'GET'), paths }],
    ['with any host', { methods, hosts: ['*'], paths }],
    ['with a host in capitals', { methods, hosts: ['API.example'], paths }],
    ['with a path in the place of a host', { methods, hosts: ['api.example/a'], paths }],
    ['with a method in small letters', { methods: ['get'], paths }],
    ['with a method of 21 letters', { methods: ['A'.repeat(21)], paths }],
    ['with CONNECT', { methods: ['CONNECT'], paths }],
    ['with TRACE', { methods: ['TRACE'], paths }],
    ['with an asterisk for the methods', { methods: ['*'], paths }],
    ['with a path that is denied', { methods, paths: ['/a/../b'] }],
    ['with an asterisk inside of a segment', { methods, paths: ['/a*'] }],
    ['with two asterisks before another segment', { methods, paths: ['/**/a'] }],
    ['with an empty name of a tool', { tools: [''], paths }],
    ['with a space in the name of a tool', { tools: ['a b'], paths }],
    ['with a name of a tool outside of ASCII', { tools: ['ä'], paths }],
    ['with a name of a tool of 201 characters', { tools: ['a'.repeat(201)], paths }],
    ['with a pointer to all arguments', { tools, paths, arguments: { '': [1] } }],
    ['with a name for a pointer', { tools, paths, arguments: { repo: ['a'] } }],
    ['with a tilde that escapes nothing', { tools, paths, arguments: { '/a~2': [1] } }],
    ['with a fraction for a value', { tools, paths, arguments: { '/a': [1.5] } }],
    ['with 2^53 for a value', { tools, paths, arguments: { '/a': [2 ** 53] } }],
    ['with an object for a value', { tools, paths, arguments: { '/a': [{}] } }],
    [
      'with a text of 1,001 characters for a value',
      { tools, paths, arguments: { '/a': ['a'.repeat(1001)] } },
    ],
    ['with a value that is in no list', { tools, paths, arguments: { '/a': 1 } }],
    ['that is a text', 'GET /a'],
    ['that is a list', [{ methods, paths }]],
  ])('does not take a rule %s', (_what, rule) => {
    expect(isRule(rule)).toBe(false);
  });
});

describe('requestRulesSchema', () => {
  it('takes 1 to 50 rules', () => {
    const rules = (count: number): object[] => Array.from({ length: count }, () => ({ methods, paths }));
    expect([0, 1, 50, 51].map((count) => areRules(rules(count)))).toEqual([false, true, true, false]);
  });
});
