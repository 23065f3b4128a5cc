import { formsOf } from '../../binding/bind-page.ts';
import { WRONG_SETUP_TOKEN } from '../../binding/handshake.ts';
import { CheckFailed, CheckSkipped } from '../../check/outcome.ts';
import type { BindingCheck } from '../../check/check.ts';
import { expectThat } from '../../check/expect.ts';
import { header, text } from '../../http/read-answer.ts';
import { expectRetryAfter } from '../refresh/refreshable.ts';
import { pageIn, expectMute, expectOpenPage } from './observed.ts';

const LINK = /^\/vault\/webhook-bind\?./;
const CODE = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Protocol section 5.1: the registration link, and the page that asks for the set-up token. */
export const BIND_PAGE_CHECKS: readonly BindingCheck[] = [
  {
    id: 'binding.link',
    title:
      'the link goes to the service’s bind page, with code, webhook_url and hmac_hash in the form for them',
    requirements: ['BND-06', 'BND-08'],
    observe: ({ address, invitation: { link, code, hmacHash } }) => {
      if (link === undefined) throw new CheckSkipped('the run was given no link');
      const failed = (what: string): never => {
        throw new CheckFailed(undefined, `a link that ${what}`);
      };
      const url64 = new URL(link).searchParams.get('webhook_url') ?? '';
      if (!link.startsWith(address.serviceUrl) || !LINK.test(link.slice(address.serviceUrl.length)))
        failed('starts with {base_url}/vault/webhook-bind? of the service');
      if (!CODE.test(code)) failed('has a UUID in lower case as code');
      // Every form that a service has to read (BND-09).
      if (!/^[A-Za-z0-9_+/ -]+={0,2}$/.test(url64)) failed('has base64url as webhook_url');
      if (!/^[0-9a-f]{64}$/.test(hmacHash)) failed('has 64 hex digits in lower case as hmac_hash');
    },
  },
  {
    id: 'binding.page-asks-first',
    title: 'GET /bind asks for a set-up token and says nothing about the service before it',
    requirements: ['BND-01'],
    observe: (transcript) => {
      const page = pageIn(transcript, 'page');
      expectOpenPage(page);
      expectMute(transcript, page);
    },
  },
  {
    id: 'binding.form-posts',
    title: 'the set-up token travels in the body of a form’s POST',
    requirements: ['BND-02'],
    observe: (transcript) => {
      const page = pageIn(transcript, 'page');
      const forms = formsOf(text(page)).filter(({ tokenField }) => tokenField !== undefined);
      expectThat(
        forms.length > 0 && forms.every(({ method }) => method === 'post'),
        page,
        'a form with method="post" for the set-up token',
      );
    },
  },
  {
    id: 'binding.wrong-token-shows-nothing',
    title: 'a wrong set-up token shows nothing about the service and goes into no URL and no cookie',
    requirements: ['BND-01', 'BND-02'],
    observe: (transcript) => {
      const answer = pageIn(transcript, 'wrongSetupToken');
      expectMute(transcript, answer);
      const kept = answer.headers.some(
        ([name, value]) => ['location', 'set-cookie'].includes(name) && value.includes(WRONG_SETUP_TOKEN),
      );
      expectThat(!kept, answer, 'the set-up token neither in Location nor in Set-Cookie');
    },
  },
  {
    id: 'binding.wrong-token-asked-again',
    title: 'a wrong set-up token is answered 403 with a page in HTML that has the form once more',
    requirements: ['BND-13'],
    observe: (transcript) => {
      const answer = pageIn(transcript, 'wrongSetupToken');
      const asks = formsOf(text(answer)).some(({ tokenField }) => tokenField !== undefined);
      expectThat(answer.status === 403 && asks, answer, '403 with a form that asks for the set-up token');
      const type = header(answer, 'content-type') ?? '';
      expectThat(/^text\/html[ \t]*(;|$)/i.test(type), answer, 'Content-Type: text/html');
    },
  },
  {
    id: 'binding.wrong-tokens-limited',
    title: 'of more than 10 wrong set-up tokens within a minute some are answered 429 with Retry-After',
    requirements: ['BND-04', 'TRN-24'],
    observe: (transcript) => {
      const answer = pageIn(transcript, 'manyWrongSetupTokens');
      expectThat(answer.status === 429, answer, '429 to one of more than 10 wrong set-up tokens');
      expectRetryAfter(answer);
    },
  },
];
