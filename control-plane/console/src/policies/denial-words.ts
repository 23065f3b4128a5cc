import type { RequestFacts } from './rule-changes.ts';
import { type Rule, countryName, someOf, ruleWords } from './rule-words.ts';
import { localTime } from './time-zone.ts';

/** Why a rule denied a request, as a sentence without its subject, which is the policy. */
export function denialWords(rule: Rule, { at, ip, country, used }: RequestFacts): string {
  const from = `from ${ip ?? 'an unknown address'}`;
  const place = `${from} (${country === null ? 'country not known' : countryName(country)})`;
  switch (rule.type) {
    case 'ip_allowlist':
      return `lets through ${someOf(rule.cidrs, 'networks')} only; the request came ${from}.`;
    case 'time_window':
      return `lets through ${ruleWords(rule)} only; there it was ${localTime(new Date(at), rule.timezone).text}.`;
    case 'geo_restrict': {
      const named = someOf(rule.countries.map(countryName), 'countries');
      return `${rule.mode === 'allow' ? `lets through ${named} only` : `denies ${named}`}; the request came ${place}.`;
    }
    case 'rate_limit':
      return `lets through ${ruleWords(rule)}, and that many had been made.`;
    case 'max_usage':
      return `lets through ${ruleWords(rule)}; ${(used ?? rule.limit).toLocaleString('en')} of ${rule.limit.toLocaleString('en')} are used up.`;
    case 'request_filter':
      return `lets through ${ruleWords(rule)}.`;
    case 'manual_approval':
      return `lets through ${ruleWords(rule)}; nobody had approved this one.`;
  }
}
