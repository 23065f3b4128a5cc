import { expect, test } from 'vitest';
import { readSettings } from './settings.ts';
import { TRACING_SETTINGS, tracingConfig } from './tracing-settings.ts';

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'https://collector.example.org:4318' };
const read = (env: NodeJS.ProcessEnv): ReturnType<typeof tracingConfig> =>
  tracingConfig(readSettings(TRACING_SETTINGS, env, { foreign: [] }));

test('traces are off without an address, and all that is traced is exported with one', () => {
  expect(read({ OTEL_EXPORTER_OTLP_HEADERS: 'a=b', OTEL_TRACES_SAMPLER_ARG: '0.5' })).toBeUndefined();
  expect(read(ENDPOINT)).toMatchObject({ endpoint: 'https://collector.example.org:4318', ratio: 1 });
});

test('headers are percent-decoded, and do not print', () => {
  const config = read({ ...ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS: 'Authorization=Basic%20eDp5, x-a=b=c' });
  expect(config?.headers.reveal()).toEqual({ authorization: 'Basic eDp5', 'x-a': 'b=c' });
  expect(JSON.stringify(config)).not.toContain('eDp5');
});

test.each(['canary', '=canary', 'a b=canary', 'x=%0d%0acanary', 'x=%canary', 'x=1,,y=canary'])(
  'headers as %j are rejected without being repeated',
  (headers) => {
    expect(() => read({ ...ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS: headers })).toThrow(
      /^(?!.*canary).*OTEL_EXPORTER_OTLP_HEADERS must list NAME=VALUE/s,
    );
  },
);

test.each(['', '0', '1', '0.1', '.5', '1.0'])('the ratio %j is taken', (ratio) => {
  expect(read({ ...ENDPOINT, OTEL_TRACES_SAMPLER_ARG: ratio })?.ratio).toBe(ratio === '' ? 1 : Number(ratio));
});

test.each(['1.1', '2', '-0.1', '1e-3', '.', 'all', '0,1'])('the ratio %j is rejected', (ratio) => {
  expect(() => read({ ...ENDPOINT, OTEL_TRACES_SAMPLER_ARG: ratio })).toThrow(/must be a number from 0 to 1/);
});

test.each(['ftp://c.example', 'http://u:p@c.example', 'http://c.example/', 'http://c_*.example', 'c:4318'])(
  'the address %s is rejected',
  (endpoint) => {
    expect(() => read({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint })).toThrow(/OTEL_EXPORTER_OTLP_ENDPOINT/);
  },
);
