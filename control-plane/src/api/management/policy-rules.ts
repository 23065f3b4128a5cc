import { z } from 'zod';
import { MAX_RULES_TEXT } from '../../core/policy.ts';
import { isCountry } from '../../policies/geo-restrict.ts';
import { problemOfCidr } from '../../policies/ip-allowlist.ts';
import { isZone } from '../../policies/time-window.ts';

const MAX_RULES = 20;
const MAX_WINDOWS = 50;
const MAX_CIDRS = 100;
/** Of all lists of a policy together: each costs some microseconds when it is compiled, which everybody waits for. */
const MAX_CIDRS_OF_POLICY = 200;
const MAX_COUNTRIES = 250;
const MAX_REQUESTS = 1_000_000;
const MAX_WINDOW_S = 30 * 24 * 3_600;
const MAX_USES = 1_000_000_000;

const timeOfDay = z.string().regex(/^(?:[01][0-9]|2[0-3]):[0-5][0-9]$/, 'must be a time of day, HH:MM');

const windowSchema = z
  .strictObject({
    days: z
      .array(z.int().min(1).max(7))
      .min(1)
      .max(7)
      .refine((days) => new Set(days).size === days.length, 'must name each day once')
      .meta({ description: 'Monday is 1, Sunday 7: the days on which the window begins' }),
    start: timeOfDay,
    end: timeOfDay.meta({ description: 'Before start it is the next day’s' }),
  })
  .refine(({ start, end }) => start !== end, { path: ['end'], message: 'must not be equal to start' });

const cidrSchema = z
  .string()
  .max(50)
  .superRefine((text, context) => {
    const message = problemOfCidr(text);
    if (message !== undefined) context.addIssue({ code: 'custom', message });
  })
  .meta({ examples: ['10.0.0.0/8'] });

export const ruleSchema = z
  .discriminatedUnion('type', [
    z.strictObject({
      type: z.literal('time_window'),
      timezone: z
        .string()
        .max(64)
        .refine(isZone, 'must be an IANA time zone')
        .meta({ examples: ['Europe/Berlin'] }),
      windows: z.array(windowSchema).min(1).max(MAX_WINDOWS),
    }),
    z.strictObject({
      type: z.literal('ip_allowlist'),
      cidrs: z.array(cidrSchema).min(1).max(MAX_CIDRS),
    }),
    z.strictObject({
      type: z.literal('geo_restrict'),
      mode: z.enum(['allow', 'deny']),
      countries: z
        .array(z.string().max(50).refine(isCountry, 'must be an ISO 3166-1 alpha-2 code in upper case'))
        .min(1)
        .max(MAX_COUNTRIES),
    }),
    z.strictObject({
      type: z.literal('rate_limit'),
      limit: z.int().min(1).max(MAX_REQUESTS),
      windowSeconds: z.int().min(1).max(MAX_WINDOW_S),
    }),
    z.strictObject({ type: z.literal('max_usage'), limit: z.int().min(1).max(MAX_USES) }),
    z.strictObject({ type: z.literal('manual_approval') }),
  ])
  .meta({ id: 'PolicyRule' });

export const rulesSchema = z
  .array(ruleSchema)
  .min(1)
  .max(MAX_RULES)
  .refine(
    (rules) => JSON.stringify(rules).length <= MAX_RULES_TEXT,
    `must be at most ${MAX_RULES_TEXT} characters of JSON`,
  )
  .refine(
    (rules) =>
      rules.flatMap((rule) => (rule.type === 'ip_allowlist' ? rule.cidrs : [])).length <= MAX_CIDRS_OF_POLICY,
    `must hold at most ${MAX_CIDRS_OF_POLICY} networks together`,
  );
