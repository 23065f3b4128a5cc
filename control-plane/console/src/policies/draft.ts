import { Problem } from '../api/client.ts';
import { textOf } from '../parts/form.tsx';
import type { Rule, RuleOf, RuleType } from './rule-words.ts';

/** A policy as it is typed. Numbers that are none are NaN: the API says which field it is about. */
export interface Draft {
  readonly name: string;
  readonly enabled: boolean;
  readonly rules: readonly Rule[];
}

/**
 * Fields have the paths by which the API names them, so that its issues appear beside them.
 *
 * @throws Problem where a line is no rule for requests
 */
export async function draftIn(values: FormData): Promise<Draft> {
  const rules: Rule[] = [];
  while (values.has(`rules.${rules.length}.type`)) rules.push(await ruleIn(values, `rules.${rules.length}`));
  return { name: textOf(values, 'name'), enabled: values.has('enabled'), rules };
}

async function ruleIn(values: FormData, path: string): Promise<Rule> {
  const text = (member: string): string => textOf(values, `${path}.${member}`);
  const type = text('type') as RuleType;
  switch (type) {
    case 'time_window':
      return { type, timezone: text('timezone').trim(), windows: windowsIn(values, `${path}.windows`) };
    case 'ip_allowlist':
      return {
        type,
        cidrs: text('cidrs')
          .split(/[\s,]+/)
          .filter((cidr) => cidr !== ''),
      };
    case 'geo_restrict':
      return {
        type,
        mode: text('mode') === 'deny' ? 'deny' : 'allow',
        countries: textsOf(values, `${path}.countries`),
      };
    case 'rate_limit':
      return {
        type,
        limit: numberIn(text('limit')),
        windowSeconds: numberIn(text('windowSeconds')) * Number(text('unit')),
      };
    case 'max_usage':
      return { type, limit: numberIn(text('limit')) };
    case 'request_filter': {
      await import('../parts/schemas-without-eval.ts');
      const { requestRulesIn } = await import('../parts/request-rules-in.ts');
      const { rules, problem } = requestRulesIn(text('requests'));
      if (problem === undefined) return { type, requests: rules as RuleOf<typeof type>['requests'] };
      throw new Problem('A line is no rule.', [{ path: `${path}.requests`, message: problem }]);
    }
    case 'manual_approval':
      return {
        type,
        uses: numberIn(text('uses')),
        expiresInSeconds: numberIn(text('expiresInSeconds')) * Number(text('unit')),
      };
  }
}

function windowsIn(values: FormData, path: string) {
  const windows = [];
  for (let at = 0; values.has(`${path}.${at}.start`); at++)
    windows.push({
      days: textsOf(values, `${path}.${at}.days`).map(Number),
      start: textOf(values, `${path}.${at}.start`),
      end: textOf(values, `${path}.${at}.end`),
    });
  return windows;
}

/** Whether every field has something, so that a draft is worth asking about. */
export const isComplete = ({ rules }: Draft): boolean =>
  rules.length > 0 &&
  rules.every((rule) => {
    switch (rule.type) {
      case 'time_window':
        return (
          rule.timezone !== '' &&
          rule.windows.every(({ days, start, end }) => days.length > 0 && start && end)
        );
      case 'ip_allowlist':
        return rule.cidrs.length > 0;
      case 'geo_restrict':
        return rule.countries.length > 0;
      case 'rate_limit':
        return !Number.isNaN(rule.limit) && !Number.isNaN(rule.windowSeconds);
      case 'max_usage':
        return !Number.isNaN(rule.limit);
      case 'request_filter':
        return rule.requests.length > 0;
      case 'manual_approval':
        return !Number.isNaN(rule.uses) && !Number.isNaN(rule.expiresInSeconds);
    }
  });

const textsOf = (values: FormData, name: string): string[] =>
  values.getAll(name).filter((value) => typeof value === 'string');

const numberIn = (text: string): number => (text.trim() === '' ? Number.NaN : Number(text));
