import { parseWebhookUrl } from '@svault/shared';
import { usage } from '../failure.ts';
import { parseBaseUrl, safeAddress } from '../http/service-address.ts';
import { plainLine } from '../output/plain-line.ts';
import { moreSettings } from '@svault/compose/webhook-project/env-file';
import type { TunnelMethod } from '@svault/compose/webhook-project/tunnel-methods';
import { DOCKERFILE } from '@svault/compose/webhook-project/compose-file';
import { resolve } from 'node:path';
import { isCheckout } from './own-sources.ts';
import { TUNNELS } from '@svault/compose/webhook-project/tunnels/tunnels';

/** In .env these begin a comment, a variable, a quotation or an escape. */
const HARMLESS = /^[\x21-\x7e]*$/;
const SPECIAL = /[#$"'`\\]/;

/**
 * What `--set` said.
 * @throws Failure usage for a pair that is none, a name that the method does not have, one that comes twice
 */
export function readPairs(method: TunnelMethod, pairs: readonly string[]): ReadonlyMap<string, string> {
  const { secret } = TUNNELS[method];
  const known = [
    'SV_WEBHOOK_URL',
    'SV_WEBHOOK_SERVICE_URL',
    ...(secret === undefined ? [] : [secret.name]),
    ...moreSettings(method),
  ];
  const values = new Map<string, string>();
  for (const pair of pairs) {
    const [, name, value] = /^([A-Z0-9_]+)=([^]*)$/.exec(pair) ?? [];
    // A pair that is none may be a secret; it is not repeated.
    if (name === undefined || value === undefined)
      throw usage(`--set takes KEY=VALUE; KEY is one of ${known.join(', ')}`);
    if (!known.includes(name))
      throw usage(`--set ${name}: ${method} has no such value; choose one of ${known.join(', ')}`);
    if (values.has(name)) throw usage(`--set ${name} is there twice`);
    values.set(name, value);
  }
  return values;
}

/** Each takes a value as it was typed and gives it as it is written. @throws Failure usage */
export const readWebhookUrl = (method: TunnelMethod, text: string): string => {
  const address = parseWebhookUrl(text.trim().replace(/\/+$/, ''));
  const said = `SV_WEBHOOK_URL ${plainLine(text)}`;
  if (!address.ok || !isHarmless(address.url))
    throw usage(
      `${said} is not the address of a webhook: https://HOST, without query, fragment and user name`,
    );
  const url = new URL(address.url);
  if (safeAddress(address.url) === undefined || (url.protocol === 'http:' && method !== 'custom'))
    throw usage(`${said} must begin with https://`);
  const problem = TUNNELS[method].addressProblem(url);
  if (problem !== undefined) throw usage(`${said} ${problem}`);
  return address.url;
};

export const readServiceUrl = (text: string): string => {
  const url = parseBaseUrl(text.trim());
  if (!isHarmless(url))
    throw usage(`SV_WEBHOOK_SERVICE_URL ${plainLine(text)} is not the address of a control plane`);
  return url;
};

export const readOther = (name: string, text: string): string => {
  const value = name === 'SVAULT_SOURCES' ? resolve(text) : text;
  if (!isHarmless(value))
    throw usage(`--set ${name}: only visible characters, without white space and any of # $ " ' \` \\`);
  if (name === 'SVAULT_SOURCES' && !isCheckout(value))
    throw usage(`--set ${name}: ${value} is not a checkout of svault: it has no ${DOCKERFILE}`);
  if (
    name === 'SVAULT_WEBHOOK_PORT' &&
    !(/^\d{1,5}$/.test(value) && Number(value) >= 1 && Number(value) <= 65_535)
  )
    throw usage(`--set ${name}: a port is a number from 1 to 65535`);
  return value;
};

const isHarmless = (text: string): boolean => HARMLESS.test(text) && !SPECIAL.test(text);
