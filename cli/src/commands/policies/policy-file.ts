import * as z from 'zod';
import { usage } from '../../failure.ts';
import type { Invocation } from '../../invocation.ts';
import { plainLine } from '../../output/plain-line.ts';
import { readFileBounded, readStreamBounded } from '../../secret-input/read-bounded.ts';

const names = z.array(z.string()).optional();

const policySchema = z.strictObject({
  name: z.string(),
  enabled: z.boolean().default(true),
  rules: z.array(z.looseObject({ type: z.string() })),
  /** Absent: what it is attached to stays. Else it is attached to these and to nothing else. */
  attach: z.strictObject({ agents: names, proxies: names, services: names }).optional(),
});
/** A policy as a file has it. */
export type WrittenPolicy = z.infer<typeof policySchema>;

/** What a proxy is asked. */
export const callSchema = z.strictObject({
  method: z.string().optional(),
  path: z.string().optional(),
  tool: z.string().optional(),
  arguments: z.record(z.string(), z.unknown()).optional(),
  mcpMethod: z.string().optional(),
});

const testSchema = z.strictObject({
  name: z.string().optional(),
  agent: z.string().optional(),
  proxy: z.string().optional(),
  service: z.string(),
  at: z.string().optional(),
  ip: z.string().optional(),
  call: callSchema.optional(),
  expect: z.enum(['allowed', 'denied']),
  /** The policy that denies, and its rule. */
  policy: z.string().optional(),
  rule: z.string().optional(),
});
/** An expectation as a file has it. */
export type WrittenTest = z.infer<typeof testSchema>;

/** @throws Failure usage, for a name that is there twice too */
export async function policiesIn(
  invocation: Invocation,
  files: readonly string[],
): Promise<readonly WrittenPolicy[]> {
  const schema = z.union([
    z.strictObject({ policies: z.array(policySchema) }).transform(({ policies }) => policies),
    policySchema.transform((policy) => [policy]),
  ]);
  const policies = await allIn(invocation, files, { schema, member: 'policies', item: policySchema });
  const seen = new Set<string>();
  for (const { name } of policies) {
    if (seen.has(name)) throw usage(`the policy ${plainLine(name)} is there twice`);
    seen.add(name);
  }
  return policies;
}

/** @throws Failure usage */
export async function testsIn(
  invocation: Invocation,
  files: readonly string[],
): Promise<readonly WrittenTest[]> {
  const schema = z
    .strictObject({ tests: z.array(testSchema), policies: z.unknown().optional() })
    .transform(({ tests }) => tests);
  return allIn(invocation, files, { schema, member: 'tests', item: testSchema });
}

interface Expected<T> {
  readonly schema: z.ZodType<readonly T[]>;
  /** The list of a document, and what each of it is: for an error that names the place. */
  readonly member: string;
  readonly item: z.ZodType;
}

async function allIn<T>(
  invocation: Invocation,
  files: readonly string[],
  expected: Expected<T>,
): Promise<readonly T[]> {
  const all: T[] = [];
  for (const file of files)
    for (const document of await documentsIn(invocation, file)) {
      const read = expected.schema.safeParse(document);
      if (!read.success) throw usage(`${named(file)}: ${problemOf(document, expected)}`);
      all.push(...read.data);
    }
  if (all.length === 0) throw usage(`there are no ${expected.member} in ${files.map(named).join(', ')}`);
  return all;
}

function problemOf<T>(document: unknown, { member, item }: Expected<T>): string {
  const list = isObject(document) ? document[member] : undefined;
  const schema = Array.isArray(list) ? z.looseObject({ [member]: z.array(item) }) : item;
  const [issue] = schema.safeParse(document).error?.issues ?? [];
  const place = (issue?.path ?? []).join('.');
  const message = issue?.message ?? `only ${member} stand there`;
  return plainLine(place === '' ? message : `${place}: ${message}`).slice(0, 300);
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

const STDIN = '-';
const MAX_BYTES = 1_024 * 1_024;
const named = (file: string): string => (file === STDIN ? 'stdin' : file);

/** The documents of a file, YAML or JSON, which is YAML too. @throws Failure usage */
async function documentsIn(invocation: Invocation, file: string): Promise<readonly unknown[]> {
  const { stdin, interactive } = invocation.terminal;
  if (file === STDIN && interactive.in) throw usage('- reads stdin, and stdin is this terminal; give a file');
  const bytes =
    file === STDIN
      ? await readStreamBounded(stdin, MAX_BYTES, invocation.signal)
      : await readFileBounded(file, MAX_BYTES);
  const { parseAllDocuments } = await import('yaml');
  const documents = parseAllDocuments(new TextDecoder().decode(bytes));
  return [...documents].map((document) => {
    const [problem] = [...document.errors, ...document.warnings];
    // Its further lines show the place in the file.
    const [what = ''] = problem?.message.split('\n') ?? [];
    if (problem !== undefined) throw usage(`${named(file)}: ${plainLine(what).replace(/:$/, '')}`);
    try {
      return document.toJS({ maxAliasCount: 100 }) as unknown;
    } catch (error) {
      throw usage(`${named(file)}: ${plainLine(String(error)).slice(0, 300)}`);
    }
  });
}
