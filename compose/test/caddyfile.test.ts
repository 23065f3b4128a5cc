import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { COMPOSE, deployments } from './deployment.ts';

const lines = readFileSync(join(COMPOSE, 'scale/Caddyfile'), 'utf8')
  .split('\n')
  .map((line) => line.trim())
  .filter((line) => line !== '' && !line.startsWith('#'));

test('Caddy sends requests to every control plane of compose.yaml', () => {
  const { services = {} } = deployments().find(({ name }) => name === 'scale') ?? {};
  const names = Object.keys(services).filter((name) => name.startsWith('control-plane'));
  expect(names).toHaveLength(3);
  expect(lines).toContain(`reverse_proxy ${names.map((name) => `${name}:8080`).join(' ')} {`);
});

test('only Caddy’s health check removes a control plane from rotation, and no failed request, which anyone can cause', () => {
  expect(lines.filter((line) => line.startsWith('health_'))).not.toEqual([]);
  expect(lines.filter((line) => /^(?:fail_duration|max_fails|unhealthy_)/.test(line))).toEqual([]);
});

test('a request for another host is rejected', () => {
  expect(lines.join(' ')).toContain(':443 { respond 421 }');
});

test('the admin API is off, and the log omits the contents of requests', () => {
  expect(lines).toContain('admin off');
  for (const field of ['request>headers', 'request>uri']) expect(lines).toContain(`${field} delete`);
});

test('slow requests time out', () => {
  for (const bound of ['read_header 10s', 'read_body 35s']) expect(lines).toContain(bound);
});

test('no request to a control plane is retried because of an Idempotency-Key header', () => {
  for (const name of ['Idempotency-Key', 'X-Idempotency-Key'])
    expect(lines).toContain(`request_header @own -${name}`);
});
