import { sha256, toHex } from '@svault/shared';
import { CAPABILITIES } from '@svault/shared/schemas';
import { bindingOf } from '../../binding/exchanged.ts';
import type { StepName } from '../../binding/transcript.ts';
import { CheckSkipped, NotTestable } from '../../check/outcome.ts';
import type { BindingCheck } from '../../check/check.ts';
import { expectOk, expectRefusal, expectThat } from '../../check/expect.ts';
import { text } from '../../http/read-answer.ts';
import { mentionIn } from '../../check/mention-in.ts';
import {
  answerIn,
  pageIn,
  exchangedIn,
  claims,
  expectUnsigned,
  refused,
  expectSealed,
  expectOpenPage,
} from './observed.ts';

/** Protocol section 5.1: the exchange of one code for a key. */
export const EXCHANGE_CHECKS: readonly BindingCheck[] = [
  {
    id: 'binding.unbound-health',
    title: 'GET /v1/health is open, and says nothing about the owner, before the webhook is bound',
    requirements: ['HEA-01', 'HEA-02'],
    observe: (transcript) => {
      const answer = answerIn(transcript, 'openHealth');
      expectThat(expectOk(answer)['status'] === 'ok', answer, 'status "ok"');
      expectThat(
        mentionIn(text(answer), { ...transcript.address, ids: [exchangedIn(transcript)?.webhookId] }) ===
          undefined,
        answer,
        'nothing about the service or the owner',
      );
    },
  },
  {
    id: 'binding.unbound-refuses',
    title: 'a webhook that is not bound answers 401 at its signed endpoints, whatever signs',
    requirements: ['SIG-60', 'EXC-05'],
    observe: (transcript) => {
      const at = (name: StepName): void => expectUnsigned(answerIn(transcript, name));
      at('unsignedHealth');
      at('unknownKeyRotates');
      at('emptyKeyRotates');
      at('codeAtHealthUnbound');
      for (const key of ['unknownKey', 'emptyKey', 'emptyBindKey'] as const) {
        at(`${key}AtHealth`);
        if (claims(transcript, 'storage')) at(`${key}AtStorage`);
        if (claims(transcript, 'proxy')) at(`${key}AtProxy`);
        if (claims(transcript, 'refresh-notify')) at(`${key}AtRefreshNotify`);
        if (claims(transcript, 'sv-refresh')) at(`${key}AtRefresh`);
      }
    },
  },
  {
    id: 'binding.unbound-ticket',
    title: 'a webhook that is not bound takes no ticket',
    requirements: ['TIX-29'],
    observe: (transcript) => {
      if (!claims(transcript, 'credential')) throw new CheckSkipped('the webhook does not claim credential');
      expectRefusal(answerIn(transcript, 'emptyKeyTicket'), 'TICKET_INVALID');
    },
  },
  {
    id: 'binding.wrong-code',
    title: 'a wrong code is answered 401',
    requirements: ['EXC-13', 'EXC-19'],
    observe: refused('wrongCode'),
  },
  {
    id: 'binding.unsigned',
    title: 'the right code without a signature is refused',
    requirements: ['EXC-05'],
    observe: refused('unsigned'),
  },
  {
    id: 'binding.forged-mac',
    title: 'the right code under a signature that was not made with it is refused',
    requirements: ['EXC-03', 'EXC-05'],
    observe: refused('forgedMac'),
  },
  {
    id: 'binding.other-key-id',
    title: 'an exchange has the key id bind, and no other',
    requirements: ['EXC-02', 'EXC-05'],
    observe: refused('otherKeyId'),
  },
  {
    id: 'binding.tampered-body',
    title: 'an exchange whose body was changed after it was signed is refused',
    requirements: ['EXC-05'],
    observe: refused('tamperedBody'),
  },
  {
    id: 'binding.times',
    title: 'an exchange that is late, early, or valid for too long or not at all is refused',
    requirements: ['EXC-05'],
    observe: refused('expired', 'fromTheFuture', 'longLived', 'withoutLife'),
  },
  {
    id: 'binding.refusals-keep-code',
    title: 'a live code outlives wrong codes and wrong signatures',
    requirements: ['EXC-15'],
    observe: (transcript) => {
      // Another service's address is looked at once the code and the signature hold.
      const answer = answerIn(transcript, 'otherService');
      expectThat(
        answer.status !== 410 && answer.status !== 401,
        answer,
        'the code still live after the refusals before',
      );
      if (answer.status !== 400 && bindingOf(answer) === undefined)
        throw new NotTestable('another service’s address was answered neither 400 nor with a key', answer);
    },
  },
  {
    id: 'binding.other-service',
    title: 'an exchange for another service’s address is answered 400, however near that is to the right one',
    requirements: ['EXC-07'],
    observe: (transcript) => {
      for (const name of ['otherService', 'serviceWithSlash', 'serviceInCapitals', 'noService'] as const)
        expectRefusal(answerIn(transcript, name), 'INVALID_REQUEST');
    },
  },
  {
    id: 'binding.other-service-keeps-code',
    title: 'a code outlives an exchange for another service’s address',
    requirements: ['EXC-08'],
    observe: (transcript) => {
      const first = answerIn(transcript, 'otherService');
      if (first.status !== 400)
        throw new NotTestable('another service’s address was not answered 400', first);
      const used = (['serviceWithSlash', 'serviceInCapitals', 'noService', 'exchange'] as const)
        .map((name) => answerIn(transcript, name))
        .find(({ status }) => status === 410 || status === 401);
      if (used !== undefined) expectThat(false, used, 'the code still live after the 400');
    },
  },
  {
    id: 'binding.exchange',
    title:
      'the right code is exchanged for webhookId, keyId, a secret of 32 bytes, the protocol and capabilities',
    requirements: ['EXC-02', 'EXC-03', 'SIG-37', 'SIG-43', 'TRN-16', 'HEA-05'],
    observe: (transcript) => {
      const answer = answerIn(transcript, 'exchange');
      const { webhookId, keyId, hmacSecret, protocol, capabilities } = expectOk(answer);
      expectThat(typeof webhookId === 'string' && webhookId !== '', answer, 'webhookId as text');
      expectThat(
        typeof keyId === 'string' && /^[A-Za-z0-9_-]{1,64}$/.test(keyId) && keyId !== 'bind',
        answer,
        'keyId of 1 to 64 of A-Z a-z 0-9 _ -, and not "bind"',
      );
      expectThat(
        typeof hmacSecret === 'string' && /^[A-Za-z0-9_-]{43}$/.test(hmacSecret),
        answer,
        'hmacSecret as base64url of 32 bytes without padding',
      );
      expectThat(protocol === 'v1', answer, 'protocol "v1"');
      const known: readonly unknown[] = CAPABILITIES;
      expectThat(
        Array.isArray(capabilities) && capabilities.every((each) => known.includes(each)),
        answer,
        `capabilities out of ${CAPABILITIES.join(', ')}`,
      );
    },
  },
  {
    id: 'binding.promised-key',
    title: 'the key is the one whose SHA-256 was in the link',
    requirements: ['BND-08'],
    observe: (transcript) => {
      const answer = answerIn(transcript, 'exchange');
      const exchanged = exchangedIn(transcript);
      if (exchanged === undefined) throw new NotTestable('the exchange was answered with no key', answer);
      const { hmacHash } = transcript.invitation;
      expectThat(
        toHex(sha256(exchanged.key.secret)) === hmacHash.toLowerCase(),
        answer,
        `a key whose SHA-256 is ${hmacHash}`,
      );
    },
  },
  {
    id: 'binding.code-works-once',
    title: 'of three right exchanges at once, one is answered with a key and the others 410',
    requirements: ['BND-06', 'EXC-06', 'EXC-16'],
    observe: (transcript) => {
      if (exchangedIn(transcript) === undefined)
        throw new NotTestable('no exchange was answered with a key', answerIn(transcript, 'exchange'));
      for (const name of ['exchangeBeside', 'exchangeBesideToo'] as const)
        expectRefusal(answerIn(transcript, name), 'CODE_USED');
    },
  },
  {
    id: 'binding.used-code-pending',
    title: 'a used code is answered 410 before the binding is complete',
    requirements: ['EXC-16', 'EXC-18'],
    observe: (transcript) => expectRefusal(answerIn(transcript, 'usedCodePending'), 'CODE_USED'),
  },
  {
    id: 'binding.used-code-other-service',
    title: 'a used code is answered 410 also beside another service’s address',
    requirements: ['EXC-22'],
    observe: (transcript) => expectRefusal(answerIn(transcript, 'usedCodeOtherService'), 'CODE_USED'),
  },
  {
    id: 'binding.without-code',
    title: 'an exchange without code, or with one that is no text, is answered 400',
    requirements: ['EXC-21'],
    observe: (transcript) => {
      expectRefusal(answerIn(transcript, 'noCode'), 'INVALID_REQUEST', 'no code');
      expectRefusal(answerIn(transcript, 'codeIsNumber'), 'INVALID_REQUEST', 'a number as code');
    },
  },
  {
    id: 'binding.used-code-bound',
    title: 'a used code is answered 410 after the binding is complete',
    requirements: ['EXC-16', 'EXC-18'],
    observe: (transcript) => expectRefusal(answerIn(transcript, 'usedCodeBound'), 'CODE_USED'),
  },
  {
    id: 'binding.used-code-forged',
    title: 'a used code under a signature that was not made with it is answered 401',
    requirements: ['EXC-16'],
    observe: refused('usedCodeForgedPending', 'usedCodeForgedBound'),
  },
  {
    id: 'binding.pending-page',
    title: 'the page stays open until the binding is complete',
    requirements: ['EXC-12'],
    observe: (transcript) => expectOpenPage(pageIn(transcript, 'pagePending')),
  },
  {
    id: 'binding.completed-by-valid-request',
    title: 'neither a forged request nor a ticket completes a binding',
    requirements: ['EXC-10', 'ROT-07'],
    observe: (transcript) => {
      expectUnsigned(answerIn(transcript, 'forgedFirst'));
      answerIn(transcript, 'ticketFirst');
      const before = pageIn(transcript, 'pagePending');
      if (before.status === 403)
        throw new NotTestable('the page was closed before the binding was complete', before);
      const page = answerIn(transcript, 'pageStillPending');
      expectThat(page.status !== 403, page, 'the page still open after a forged request and a ticket');
    },
  },
  {
    id: 'binding.completes',
    title: 'the first valid request under the new key is accepted',
    requirements: ['EXC-10', 'SIG-43'],
    observe: (transcript) => void expectOk(answerIn(transcript, 'firstHealth')),
  },
  {
    id: 'binding.sealed',
    title: 'a webhook that is bound answers /bind with 403 SETUP_REQUIRED',
    requirements: ['BND-10', 'EXC-10'],
    observe: (transcript) => {
      expectSealed(answerIn(transcript, 'pageBound'));
      if (transcript.steps.wrongSetupTokenBound !== undefined)
        expectSealed(answerIn(transcript, 'wrongSetupTokenBound'));
    },
  },
  {
    id: 'binding.code-is-no-key',
    title: 'the code opens nothing but its exchange, and the bound key opens no exchange',
    requirements: ['EXC-05', 'SIG-44'],
    observe: (transcript) => {
      expectUnsigned(answerIn(transcript, 'codeAtHealthBound'));
      for (const name of ['codeRotates', 'codeUnderKey'] as const) {
        const answer = answerIn(transcript, name);
        expectThat(answer.status >= 400 && answer.status < 500, answer, 'a refusal');
      }
    },
  },
];
