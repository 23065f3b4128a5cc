import { validateHeaderName, validateHeaderValue } from 'node:http';
import { Secret } from '@svault/shared';
import { parseAllowList } from '@svault/shared/egress';
import { type SettingValues, checked, optional, secretText, text, url } from './settings.ts';

/** The names that OpenTelemetry specifies, which operators and their tools know. Other `OTEL_` names are not read. */
export const TRACING_SETTINGS = {
  OTEL_EXPORTER_OTLP_ENDPOINT: optional(
    checked(
      url({
        description:
          'the collector, such as `http://127.0.0.1:4318`: spans are posted to `/v1/traces` below it (OTLP/HTTP, JSON). ' +
          'It may be private. Traces are off unless set',
      }),
      problemOfEndpoint,
    ),
  ),
  OTEL_EXPORTER_OTLP_HEADERS: optional(
    checked(
      secretText({
        file: true,
        description:
          'headers of those requests, such as a key of the collector: `NAME=VALUE`, percent-encoded, with commas between',
      }),
      problemOfHeaders,
    ),
  ),
  OTEL_TRACES_SAMPLER_ARG: checked(
    text({
      default: '1',
      description: 'the part of the requests that is traced, 0 to 1; the same for both programs',
    }),
    problemOfRatio,
  ),
};

/** Where and how much is traced. */
export interface TracingConfig {
  /** Without a slash at the end. */
  readonly endpoint: string;
  /** By name in lower case. */
  readonly headers: Secret<Readonly<Record<string, string>>>;
  /** 0 to 1. */
  readonly ratio: number;
}

/** @returns undefined where traces are off */
export function tracingConfig(values: SettingValues<typeof TRACING_SETTINGS>): TracingConfig | undefined {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_HEADERS: headers } = values;
  if (endpoint === undefined) return undefined;
  const fields = headers === undefined ? {} : Object.fromEntries(headerPairsIn(headers) ?? []);
  return { endpoint, headers: new Secret(fields), ratio: Number(values.OTEL_TRACES_SAMPLER_ARG) };
}

/** The egress client permits it by its host name, so it must have one. */
function problemOfEndpoint(endpoint: string): string | undefined {
  try {
    parseAllowList([hostOf(endpoint)]);
    return undefined;
  } catch {
    return 'must name a host by a plain name or an address';
  }
}

/** As an egress allow list names it: IPv6 without brackets. */
export const hostOf = (endpoint: string): string => new URL(endpoint).hostname.replaceAll(/^\[|\]$/g, '');

function problemOfHeaders(headers: Secret): string | undefined {
  return headerPairsIn(headers) === undefined
    ? 'must list NAME=VALUE, percent-encoded, with commas between'
    : undefined;
}

function headerPairsIn(headers: Secret): (readonly [name: string, value: string])[] | undefined {
  try {
    return headers
      .reveal()
      .split(',')
      .map((member) => {
        const [name = '', value = ''] = cut(member).map((part) => decodeURIComponent(part.trim()));
        validateHeaderName(name);
        validateHeaderValue(name, value);
        return [name.toLowerCase(), value] as const;
      });
  } catch {
    return undefined;
  }
}

/** A value may have further equals signs, as base64 has. */
function cut(member: string): readonly [name: string, value: string] {
  const equals = member.indexOf('=');
  return [member.slice(0, Math.max(equals, 0)), member.slice(equals + 1)];
}

function problemOfRatio(ratio: string): string | undefined {
  const isRatio = /^[01]?(?:\.\d{1,9})?$/.test(ratio) && Number(ratio) <= 1;
  return isRatio ? undefined : 'must be a number from 0 to 1';
}
