import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatRequestRule } from './format-rule.ts';
import { RuleTextRefused, parseRequestRule } from './rule-text.ts';
import { type RequestRule, requestRuleSchema } from './rules-schema.ts';

const LINES: readonly (readonly [line: string, rule: RequestRule])[] = [
  ['GET /**', { methods: ['GET'], paths: ['/**'] }],
  [
    'GET,POST api.github.com/repos/acme/*',
    { methods: ['GET', 'POST'], hosts: ['api.github.com'], paths: ['/repos/acme/*'] },
  ],
  [
    'PUT http://127.0.0.1:8080/items',
    { methods: ['PUT'], hosts: ['http://127.0.0.1:8080'], paths: ['/items'] },
  ],
  ['GET [2001:db8::1]:8443/a', { methods: ['GET'], hosts: ['[2001:db8::1]:8443'], paths: ['/a'] }],
  ['tools search_*,get_issue /mcp', { tools: ['search_*', 'get_issue'], paths: ['/mcp'] }],
  [
    'mcp resources/* http://127.0.0.1:8080/mcp',
    { mcp: ['resources/*'], hosts: ['http://127.0.0.1:8080'], paths: ['/mcp'] },
  ],
  [
    'tools create_issue /mcp repo=acme/site|acme/docs /labels/0=bug',
    {
      tools: ['create_issue'],
      paths: ['/mcp'],
      arguments: { '/repo': ['acme/site', 'acme/docs'], '/labels/0': ['bug'] },
    },
  ],
  [
    'tools x /mcp draft=false|null count=-3|12 text="12"|"true"|""|1.5|a=b',
    {
      tools: ['x'],
      paths: ['/mcp'],
      arguments: {
        '/draft': [false, null],
        '/count': [-3, 12],
        '/text': ['12', 'true', '', '1.5', 'a=b'],
      },
    },
  ],
  [
    String.raw`tools x /mcp title="a title | \"quoted\""|"line\nbreak"|Zürich /=root`,
    {
      tools: ['x'],
      paths: ['/mcp'],
      arguments: { '/title': ['a title | "quoted"', 'line\nbreak', 'Zürich'], '/': ['root'] },
    },
  ],
  [
    String.raw`tools x /mcp from="\u202eevil"|"\u00a0"`,
    { tools: ['x'], paths: ['/mcp'], arguments: { '/from': ['\u202eevil', '\u00a0'] } },
  ],
  ['{"tools":["a,b"],"paths":["/mcp"]}', { tools: ['a,b'], paths: ['/mcp'] }],
  ['{"methods":["GET"],"paths":["/a","/b"]}', { methods: ['GET'], paths: ['/a', '/b'] }],
];

test.each(LINES)('the line %s and its rule are read from each other', (line, rule) => {
  expect(parseRequestRule(line)).toEqual(rule);
  expect(formatRequestRule(rule)).toBe(line);
});

test('space around and between the words of a line, and https:// before its host, do not matter', () => {
  expect(parseRequestRule('  GET\thttps://api.github.com/user ')).toEqual({
    methods: ['GET'],
    hosts: ['api.github.com'],
    paths: ['/user'],
  });
});

test.each([
  ['', 'a rule is missing; write a rule as GET,POST '],
  ['get /a', 'a rule begins with methods in capitals, tools or mcp, and not with get; write '],
  ['/mcp', 'and not with /mcp; write '],
  ['GET', 'the path is missing; an example: GET,POST api.github.com/repos/acme/*'],
  ['GET api.github.com', 'api.github.com has no path, such as api.github.com/**; an example: '],
  ['GET http://127.0.0.1:8080', 'http://127.0.0.1:8080 has no path, such as http://127.0.0.1:8080/**; '],
  ['GET /a /b', '/b is one word too many: a line has one path; '],
  ['GET /a repo=x', 'repo=x is an argument, which only a rule for tools has; '],
  ['TRACE /a', 'TRACE is never passed on; '],
  ['GET /repos/ac*', '/repos/ac* must be a path such as /repos/*/issues or /repos/** '],
  ['GET /a?b=c', '/a?b=c must be a path such as '],
  ['GET */a', '* must be an entry of allowedHosts other than *; '],
  ['GET API.github.com/a', 'API.github.com must be an entry of allowedHosts other than *; '],
  ['tools', 'names are missing behind tools; an example: tools search_*,create_issue /mcp '],
  ['tools search_*', 'the path is missing; an example: tools '],
  ['tools a,,b /mcp', 'too small: expected string to have >=1 characters; '],
  ['tools x /mcp repo', 'repo is no argument, a name with = and its values; '],
  ['tools x /mcp =y', '=y is no argument, '],
  ['tools x /mcp repo=', 'repo lacks a value; an empty text is ""; '],
  ['tools x /mcp repo=a||b', 'repo lacks a value; '],
  ['tools x /mcp repo=a repo=b', '/repo stands twice; its values are separated by |; '],
  ['tools x /mcp a/b=c', 'arguments.a/b: '],
  [
    'tools x /mcp n=9007199254740993',
    '9007199254740993 is beyond 2^53; as a text it is "9007199254740993"; ',
  ],
  ['tools x /mcp t=a"b', 'a"b is no text in JSON quotes, which stand around the whole of it; '],
  ['tools x /mcp t="open', '"open is no text in JSON quotes, '],
  ['tools x /mcp t="open\\', '"open\\ is no text in JSON quotes, '],
  ['mcp resources/* /mcp a=b', 'a=b is an argument, which only a rule for tools has; an example: mcp '],
  ['{"tools":', 'what begins with { is JSON, and this is none; write '],
  ['{"paths":["/a"]}', 'a rule has one of the members methods, tools and mcp; '],
  ['{"tools":["x"],"mcp":["y"],"paths":["/a"]}', 'a rule has one of the members methods, tools and mcp; '],
  ['{"tools":["x"]}', 'paths: '],
  ['{"tools":["x"],"paths":["/a"],"path":1}', 'unrecognized key: "path"; an example: '],
])('the line %s is refused with what is wrong and an example', (line, said) => {
  expect(() => parseRequestRule(line)).toThrow(RuleTextRefused);
  expect(() => parseRequestRule(line)).toThrow(said);
});

const paths = fc.constantFrom('/', '/mcp', '/**', '/repos/*/issues', "/a,b=c'd/x", '/%C3%BC', '/a:b@c');
const hosts = fc.constantFrom('api.github.com', 'a.example:8443', 'http://127.0.0.1:8080', '[::1]:1');
const names = fc.string({
  unit: fc.constantFrom('a', 'Z', '*', ',', '"', '=', '/', '{', '|'),
  minLength: 1,
  maxLength: 8,
});
const texts = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.constantFrom('true', 'null', '0', '-0', '01', '99999999999999999999', '1e3', ' ', '|', '"', '\\'),
);
const scalars = fc.oneof(
  texts,
  fc.boolean(),
  fc.constant(null),
  fc.maxSafeInteger().map((integer) => integer + 0),
);
const pointers = fc
  .array(fc.string({ unit: fc.constantFrom('r', '=', ' ', '"', '~0', '~1', 'ü', '\u200b'), maxLength: 4 }), {
    minLength: 1,
    maxLength: 3,
  })
  .map((tokens) => `/${tokens.join('/')}`);
const some = <T>(entries: fc.Arbitrary<T>): fc.Arbitrary<T[]> =>
  fc.array(entries, { minLength: 1, maxLength: 3 });
const place = { hosts: some(hosts), paths: some(paths) };
const rules = fc
  .oneof(
    fc.record({ ...place, methods: some(fc.constantFrom('GET', 'POST', 'PROPFIND')) }, partly('methods')),
    fc.record(
      {
        ...place,
        tools: some(names),
        arguments: fc.dictionary(pointers, some(scalars), { minKeys: 1, maxKeys: 3 }),
      },
      partly('tools'),
    ),
    fc.record({ ...place, mcp: some(names) }, partly('mcp')),
  )
  .map((rule) => requestRuleSchema.parse(rule));

function partly<Kind extends string>(kind: Kind): { requiredKeys: ['paths', Kind] } {
  return { requiredKeys: ['paths', kind] };
}

test('every rule that the schema takes is read back from its line, which a terminal shows whole', () => {
  fc.assert(
    fc.property(rules, (rule) => {
      const line = formatRequestRule(rule);
      expect(parseRequestRule(line)).toEqual(rule);
      expect(line).not.toMatch(/(?! )[\p{C}\p{Z}]/u);
    }),
    { numRuns: 2_000 },
  );
});

test('whatever is typed is read as a rule or refused, in words that repeat little of it', () => {
  const pieces = fc.constantFrom(
    'GET',
    'tools',
    'mcp',
    ' ',
    '/mcp',
    'a',
    '=',
    '|',
    '"',
    '\\',
    '{',
    '}',
    'ü',
    ',',
  );
  fc.assert(
    fc.property(fc.string({ unit: pieces, maxLength: 40 }), (text) => {
      try {
        const rule = parseRequestRule(text);
        expect(parseRequestRule(formatRequestRule(rule))).toEqual(rule);
      } catch (error) {
        expect(error).toBeInstanceOf(RuleTextRefused);
        expect((error as Error).message.length).toBeLessThan(600);
      }
    }),
    { numRuns: 2_000 },
  );
});
