import { styleText } from 'node:util';
import { isWebhookErrorCode, WEBHOOK_ERROR_STATUS, type WebhookErrorCode } from '@svault/shared';
import type { Format } from '../global-flags.ts';
import type { Run } from '../invocation.ts';
import { usage } from '../failure.ts';
import { WEBHOOK_ERRORS } from './webhook-errors.ts';

/** `explain CODE`: what an error code of the webhook means and what to do about it. Needs no login and no network. */
export const run: Run<[code?: string]> = async ({ flags, terminal, color }, [code]) => {
  const codes = code === undefined ? Object.keys(WEBHOOK_ERRORS).filter(isWebhookErrorCode) : [known(code)];
  terminal.out(`${print(codes, flags.format, color)}\n`);
};

/** @throws Failure usage that names the codes that look alike */
function known(typed: string): WebhookErrorCode {
  const code = typed.toUpperCase().replaceAll('-', '_');
  if (isWebhookErrorCode(code)) return code;
  const alike = Object.keys(WEBHOOK_ERROR_STATUS).filter((each) =>
    code.split('_').some((word) => word !== '' && each.split('_').includes(word)),
  );
  const hint = alike.length === 0 ? 'svault explain lists all' : `like it: ${alike.join(', ')}`;
  throw usage(`there is no code ${typed}; ${hint}`);
}

function print(codes: readonly WebhookErrorCode[], format: Format, color: boolean): string {
  const entries = codes.map((code) => ({
    code,
    status: WEBHOOK_ERROR_STATUS[code],
    ...WEBHOOK_ERRORS[code],
  }));
  const bold = (text: string): string => (color ? styleText('bold', text, { validateStream: false }) : text);
  const width = Math.max(...codes.map((code) => code.length));
  switch (format) {
    case 'json':
      return JSON.stringify(entries.length === 1 ? entries[0] : entries, null, 2);
    case 'name':
      return codes.join('\n');
    case 'wide':
      return entries
        .map((each) => `${bold(each.code)} (${each.status})\n${each.meaning}\n${each.remedy}`)
        .join('\n\n');
    case 'table':
      return entries.length === 1
        ? print(codes, 'wide', color)
        : entries
            .map(({ code, status, meaning }) => `${bold(code.padEnd(width))}  ${status}  ${meaning}`)
            .join('\n');
  }
}
