import * as z from 'zod';
import { isAllowedHost } from '../allowed-hosts.ts';
import { byteLength } from '../byte-length.ts';
import { isObject } from '../json.ts';
import { isPathPattern } from './request-path.ts';

const MAX_RULES = 50;
const MAX_PATTERNS = 50;
/** A list of records answers with the rules of each, and its reader has bounds (PROTOCOL.md TRN-38). */
const MAX_ENTRIES = 500;
const MAX_BYTES = 16 * 1024;

const hosts = z
  .array(
    z
      .string()
      .refine((host) => host !== '*' && isAllowedHost(host), 'must be an entry of allowedHosts other than *'),
  )
  .min(1)
  .max(MAX_PATTERNS)
  .optional();
const paths = z
  .array(
    z
      .string()
      .refine(
        isPathPattern,
        'must be a path such as /repos/*/issues or /repos/** : `*` is a whole segment, `**` the last one',
      ),
  )
  .min(1)
  .max(MAX_PATTERNS);
const pattern = z
  .string()
  .min(1)
  .max(200)
  .regex(/^[\x21-\x7e]+$/, 'must be of visible ASCII characters, `*` among them for any');
const patterns = z.array(pattern).min(1).max(MAX_PATTERNS);

/** Values that every parser of JSON reads as the same. */
const scalar = z.union([z.string().max(1000), z.boolean(), z.null(), z.int()]);

const httpRuleSchema = z.strictObject({
  hosts,
  paths,
  methods: z
    .array(
      z
        .string()
        .regex(/^[A-Z]{1,20}$/, 'must be a method in capitals')
        .refine((method) => method !== 'CONNECT' && method !== 'TRACE', 'is never passed on'),
    )
    .min(1)
    .max(20),
});
const toolRuleSchema = z.strictObject({
  hosts,
  paths,
  tools: patterns,
  arguments: z
    .record(
      z.string().regex(/^(?:\/(?:[^~/]|~[01])*)+$/, 'must be a JSON pointer such as /repo'),
      z.array(scalar).min(1).max(100),
    )
    .refine((pointers) => {
      const count = Object.keys(pointers).length;
      return count >= 1 && count <= 20;
    }, 'must have 1 to 20 pointers')
    .optional(),
});
const mcpRuleSchema = z.strictObject({ hosts, paths, mcp: patterns });

/**
 * A rule is the conjunction of its members, and a request passes where one rule matches it whole. All name `paths`: a
 * rule for tools alone would let a control plane that is compromised send its calls to any path of an allowed host.
 */
export const requestRuleSchema = z.union([httpRuleSchema, toolRuleSchema, mcpRuleSchema]);
export const requestRulesSchema = z
  .array(requestRuleSchema)
  .min(1)
  .max(MAX_RULES)
  .refine((rules) => entriesIn(rules) <= MAX_ENTRIES, `at most ${MAX_ENTRIES} entries in all lists together`)
  .refine(
    (rules) => byteLength(JSON.stringify(rules)) <= MAX_BYTES,
    `at most ${MAX_BYTES / 1024} KiB of JSON`,
  );
export type RequestRule = z.infer<typeof requestRuleSchema>;

/** Elements of the lists in rules, at any depth. */
function entriesIn(value: unknown): number {
  if (Array.isArray(value)) return value.reduce<number>((sum, each) => sum + 1 + entriesIn(each), 0);
  return isObject(value) ? Object.values(value).reduce<number>((sum, each) => sum + entriesIn(each), 0) : 0;
}
