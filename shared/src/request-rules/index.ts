/**
 * Rules for what may be asked of an upstream (PROTOCOL.md section 5.6): their grammar, and the one matcher that both
 * programs enforce them by.
 */
export type { Ambiguity } from './ambiguity.ts';
export { compileRequestRules } from './compile.ts';
export type { RequestRules, RequestVerdict } from './compile.ts';
export type { HttpRequest } from './http-request.ts';
export { requestRuleSchema, requestRulesSchema } from './rules-schema.ts';
export type { RequestRule } from './rules-schema.ts';
