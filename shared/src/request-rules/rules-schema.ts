import * as z from 'zod';
import { isAllowedHost } from '../allowed-hosts.ts';
import { isPathPattern } from './request-path.ts';

const MAX_RULES = 50;
const MAX_PATTERNS = 50;

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
    .refine((pointers) => Object.keys(pointers).length <= 20, 'at most 20 pointers')
    .optional(),
});
const mcpRuleSchema = z.strictObject({ hosts, paths, mcp: patterns });

/**
 * A rule is the conjunction of its members, and a request passes where one rule matches it whole. All name `paths`: a
 * rule for tools alone would let a control plane that is compromised send its calls to any path of an allowed host.
 */
export const requestRuleSchema = z.union([httpRuleSchema, toolRuleSchema, mcpRuleSchema]);
export const requestRulesSchema = z.array(requestRuleSchema).min(1).max(MAX_RULES);
export type RequestRule = z.infer<typeof requestRuleSchema>;
