import { type Rule, type RuleType, countryName, ruleWords, windowWords } from './rule-words.ts';
import { localTime, ownZone } from './time-zone.ts';

/** What a change is to let through, or to deny. */
export interface RequestFacts {
  readonly at: string;
  /** Null: not known. */
  readonly ip: string | null;
  readonly country: string | null;
  /** Uses of the rule so far, of a `max_usage` rule. */
  readonly used?: number | undefined;
}

/** A change of a rule, with what it does as a sentence. */
export interface RuleChange {
  readonly words: string;
  /** Undefined: the rule has to go. */
  readonly rule: Rule | undefined;
}

const MAX_REQUESTS = 1_000_000;

/** The smallest change of a rule that lets a request through. */
export function changeThatAllows(rule: Rule, { at, ip, country, used = 0 }: RequestFacts): RuleChange {
  switch (rule.type) {
    case 'time_window': {
      const added = hourAround(at, rule.timezone);
      return {
        words: `Add the window ${windowWords(added)} ${rule.timezone}.`,
        rule: { ...rule, windows: [...rule.windows, added] },
      };
    }
    case 'ip_allowlist':
      if (ip === null) return without('its address is not known');
      return { words: `Add the address ${ip}.`, rule: { ...rule, cidrs: [...rule.cidrs, ip] } };
    case 'geo_restrict': {
      if (country === null) return without('the country of its address is not known');
      const name = countryName(country);
      if (rule.mode === 'allow')
        return { words: `Add ${name}.`, rule: { ...rule, countries: [...rule.countries, country] } };
      const countries = rule.countries.filter((each) => each !== country);
      if (countries.length === 0)
        return { words: 'Remove this rule: it has no other country.', rule: undefined };
      return { words: `Take ${name} off its list.`, rule: { ...rule, countries } };
    }
    case 'rate_limit': {
      const raised = { ...rule, limit: Math.min(rule.limit * 2, MAX_REQUESTS) };
      return {
        words: `Raise the limit: ${ruleWords(raised)}. Or wait: the window ends by itself.`,
        rule: raised,
      };
    }
    case 'max_usage': {
      const raised = { ...rule, limit: Math.max(rule.limit * 2, used + 1) };
      return { words: `Raise the limit: ${ruleWords(raised)}.`, rule: raised };
    }
    case 'request_filter':
      return {
        words: 'Add a line that matches what the proxy was asked. No line lets an agent have it.',
        rule,
      };
    case 'manual_approval':
      return { words: 'Approve it when it is asked for again. Or remove this rule.', rule: undefined };
  }
}

const without = (why: string): RuleChange => ({ words: `Remove this rule: ${why}.`, rule: undefined });

/** Rules that deny a request, each with what it does, for a policy to begin with. */
export function rulesThatDeny({
  at,
  country,
}: RequestFacts): readonly (RuleChange & { readonly type: RuleType })[] {
  const timezone = ownZone();
  const { day, hour, text } = localTime(new Date(at), timezone);
  const isOfficeHour = day <= 5 && hour >= 9 && hour < 17;
  const window = isOfficeHour ? allButHour(hour) : { days: [1, 2, 3, 4, 5], start: '09:00', end: '17:00' };
  const offered = [
    {
      type: 'time_window' as const,
      words: `It came at ${text}: allow ${windowWords(window)} only.`,
      rule: { type: 'time_window' as const, timezone, windows: [window] },
    },
    {
      type: 'ip_allowlist' as const,
      words: 'Allow some networks only, and leave its address out.',
      rule: { type: 'ip_allowlist' as const, cidrs: [] },
    },
    ...(country === null
      ? []
      : [
          {
            type: 'geo_restrict' as const,
            words: `Deny requests from ${countryName(country)}.`,
            rule: { type: 'geo_restrict' as const, mode: 'deny' as const, countries: [country] },
          },
        ]),
    {
      type: 'manual_approval' as const,
      words: 'Hold each request back until a person approves it.',
      rule: { type: 'manual_approval' as const },
    },
  ];
  return offered;
}

const hourText = (hour: number): string => `${String(hour % 24).padStart(2, '0')}:00`;

/** The hour of the day in which a time is. */
function hourAround(at: string, timezone: string) {
  const { day, hour } = localTime(new Date(at), timezone);
  return { days: [day], start: hourText(hour), end: hourText(hour + 1) };
}

/** From the end of an hour to its beginning on the next day, every day. */
const allButHour = (hour: number) => ({
  days: [1, 2, 3, 4, 5, 6, 7],
  start: hourText(hour + 1),
  end: hourText(hour),
});
