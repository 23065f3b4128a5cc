/**
 * Rules for what may be asked of an upstream (PROTOCOL.md section 5.7): their grammar, and the one matcher that both
 * programs enforce them by.
 */
export { REQUEST_DENIALS, ambiguityText, requestDenialText } from './request-denial.ts';
export type { RequestDenial } from './request-denial.ts';
export { compileRequestRules } from './compile.ts';
export type { RequestRules, RequestVerdict } from './compile.ts';
export type { HttpRequest } from './http-request.ts';
export { foldCase } from './mcp-message.ts';
export { ReadOnce } from './read-once.ts';
export { formatRequestRule } from './format-rule.ts';
export { RuleTextRefused, parseRequestRule } from './rule-text.ts';
export { requestRuleSchema, requestRulesSchema } from './rules-schema.ts';
export type { RequestRule } from './rules-schema.ts';
