import { generateKeyPairSync } from 'node:crypto';
import type { Check } from '../../check/check.ts';
import { expectOk, expectThat } from '../../check/expect.ts';
import { INJECTED_TYPE_CHECKS } from './injected-types.ts';
import {
  setUpProxy,
  calledOnce,
  expectUncalled,
  storeText,
  storeTextOf,
  received,
} from '../../upstream/proxy-setup.ts';

/** A fresh public EC P-256 key as a JWK, which nobody has the private half of. */
function sealedRecipient(): object {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' });
}

/** What a replacement function may take for an order of its own, and everything else that is printable. */
const ORDERS = "$&$1$$$`$'${1}\\1\\g<0>%s%1$s{0}{}\"quoted\",'single';<b>&amp;";
const PRINTABLE = String.fromCharCode(...Array.from({ length: 0x7e - 0x21 + 1 }, (_, at) => 0x21 + at));

const NOT_A_FIELD_VALUE: ReadonlyArray<readonly [what: string, value: string]> = [
  ['a line end and a header of its own', 'a long canary\r\nx-injected: 1'],
  ['a carriage return', 'a long can\rary of 20'],
  ['a line feed at the end', 'a long canary of 21\n'],
  ['NUL', 'a long can\u0000ary of 20'],
  ['another control character', 'a long can\u0001ary of 20'],
  ['DEL', 'a long can\u007fary of 20'],
  ['a Latin-1 letter', 'a long canärÿ of 20'],
  ['letters above Latin-1', 'a long canary\u{1F511} of 20'],
];

/** Protocol section 5.6: how a credential gets into a call. */
export const INJECTION_CHECKS: readonly Check[] = [
  {
    id: 'injection.markers',
    title: 'both markers are replaced by the credential, in every template and as often as they stand there',
    requirements: ['PRX-13'],
    claims: ['proxy'],
    run: async (tools) => {
      const templates = {
        authorization: 'Bearer ${TOKEN}',
        'x-api-key': '$<TOKEN>',
        'x-first': '${TOKEN}, a, $<TOKEN>;b=${TOKEN}',
        'x-second': '${TOKEN}${TOKEN}$<TOKEN>$<TOKEN>',
        'x-none': 'as it is',
      };
      const record = await storeText(tools, { allowedHeaders: Object.keys(templates) });
      const proxy = await setUpProxy(tools, { record, headerTemplates: templates });
      const answer = await proxy.call();
      const call = calledOnce(proxy, answer);
      const { value } = proxy;
      const expected = [
        ['authorization', `Bearer ${value}`],
        ['x-api-key', value],
        ['x-first', `${value}, a, ${value};b=${value}`],
        ['x-second', value.repeat(4)],
        ['x-none', 'as it is'],
      ] as const;
      for (const [name, filled] of expected) {
        const values = received(call, name);
        const holds = values.length === 1 && values[0] === filled;
        expectThat(holds, answer, `"${name}: ${filled}" at the upstream, not ${JSON.stringify(values)}`);
      }
    },
  },
  {
    id: 'injection.once',
    title: 'a marker inside the credential is left as it is',
    requirements: ['PRX-13'],
    claims: ['proxy'],
    run: async (tools) => {
      const secret = 'a${TOKEN}b$<TOKEN>c';
      const headerTemplates = { authorization: '${TOKEN} $<TOKEN>', 'x-api-key': '$<TOKEN>,${TOKEN}' };
      const proxy = await setUpProxy(tools, { record: await storeTextOf(tools, secret), headerTemplates });
      const answer = await proxy.call();
      const call = calledOnce(proxy, answer);
      const holds =
        received(call, 'authorization')[0] === `${secret} ${secret}` &&
        received(call, 'x-api-key')[0] === `${secret},${secret}`;
      expectThat(holds, answer, 'the credential itself, with the markers that it holds, at both markers');
    },
  },
  {
    id: 'injection.literal',
    title: 'nothing in a credential is read as an order to whatever replaces the markers',
    requirements: ['PRX-13'],
    claims: ['proxy'],
    run: async (tools) => {
      const headerTemplates = { authorization: '<${TOKEN}>', 'x-api-key': '$<TOKEN>' };
      for (const secret of [ORDERS, PRINTABLE]) {
        const proxy = await setUpProxy(tools, { record: await storeTextOf(tools, secret), headerTemplates });
        const answer = await proxy.call();
        const call = calledOnce(proxy, answer);
        const [filled, alone] = [received(call, 'authorization')[0], received(call, 'x-api-key')[0]];
        expectThat(filled === `<${secret}>` && alone === secret, answer, `${secret} put in as it is`);
      }
    },
  },
  {
    id: 'injection.not-a-field-value',
    title:
      'a credential that is no legal field value is a 422 without a call: line ends, controls, non-ASCII',
    requirements: ['PRX-17', 'PRX-19'],
    claims: ['proxy'],
    run: async (tools) => {
      const record = await storeText(tools);
      const proxy = await setUpProxy(tools, { record });
      const { allowedHost } = await tools.given.upstream();
      for (const [what, value] of NOT_A_FIELD_VALUE) {
        const body = { tokenType: 'PlainText', value, allowedHosts: [allowedHost] };
        const stored = await tools.store(proxy.name, body);
        // What cannot be stored, NUL for instance, cannot be put in either.
        if (stored.status === 400) continue;
        expectOk(stored);
        expectUncalled(proxy, await proxy.call(), 'NOT_INJECTABLE', `a credential with ${what}`);
      }
    },
  },
  {
    id: 'injection.tab',
    title: 'a tab inside a credential goes out as it is',
    requirements: ['PRX-51'],
    claims: ['proxy'],
    run: async (tools) => {
      const { allowedHost } = await tools.given.upstream();
      const value = 'a canary\twith a tab in it';
      const name = await tools.given.record({ tokenType: 'PlainText', value, allowedHosts: [allowedHost] });
      const proxy = await setUpProxy(tools, { record: { name, value } });
      const answer = await proxy.call();
      const [sent] = received(calledOnce(proxy, answer), 'authorization');
      expectThat(sent === `Bearer ${value}`, answer, 'the credential with its tab at the upstream');
    },
  },
  {
    id: 'injection.newest-secret',
    title: 'a call carries the credential that was stored last',
    requirements: ['PRX-13'],
    claims: ['proxy'],
    run: async (tools) => {
      const proxy = await setUpProxy(tools, { record: await storeText(tools) });
      calledOnce(proxy, await proxy.call());
      const { allowedHost } = await tools.given.upstream();
      const body = { tokenType: 'PlainText', value: 'the-newer-canary-one', allowedHosts: [allowedHost] };
      expectOk(await tools.store(proxy.name, body));
      const answer = await proxy.call();
      const [value] = received(calledOnce(proxy, answer, 1), 'authorization');
      expectThat(value === 'Bearer the-newer-canary-one', answer, 'the credential that was stored last');
    },
  },
  ...INJECTED_TYPE_CHECKS,
  {
    id: 'injection.proxy-only',
    title: 'a record that is never delivered is injected at its allowed hosts',
    requirements: ['PRX-08', 'SAV-08'],
    claims: ['proxy'],
    run: async (tools) => {
      const proxy = await setUpProxy(tools, { record: await storeText(tools, { delivery: 'proxy-only' }) });
      const answer = await proxy.call();
      const [sent] = received(calledOnce(proxy, answer), 'authorization');
      expectThat(sent === `Bearer ${proxy.value}`, answer, 'the credential at the upstream');
    },
  },
  {
    id: 'injection.sealed',
    title: 'a sealed record is injected where it was stored with allowedHosts, and nowhere without',
    requirements: ['CRE-22'],
    claims: ['proxy', 'sealed-delivery'],
    run: async (tools) => {
      const sealed = { delivery: 'sealed', recipients: [sealedRecipient()] };
      const proxy = await setUpProxy(tools, { record: await storeText(tools, sealed) });
      const answer = await proxy.call();
      const [sent] = received(calledOnce(proxy, answer), 'authorization');
      expectThat(sent === `Bearer ${proxy.value}`, answer, 'the credential at the upstream');
      const closed = await setUpProxy(tools, { record: await tools.given.text(sealed) });
      const what = 'a sealed record without allowedHosts';
      expectUncalled(closed, await closed.call(), 'DESTINATION_NOT_ALLOWED', what);
    },
  },
];
