import { type SafeHtml, safeHtml } from './safe-html.ts';

/** A hidden field of a form. */
export const hiddenField = (name: string, value: string): SafeHtml =>
  safeHtml`<input type="hidden" name="${name}" value="${value}">`;

/** The message above a form that was rejected. */
export const alertText = (message: string): SafeHtml =>
  safeHtml`<p class="alert" id="problem" role="alert">${message}</p>`;

/** Shows what is typed into the password fields of its form. @param what the fields hold, in a word or two */
export const showButton = (what: string): SafeHtml =>
  safeHtml`<button type="button" class="small" data-show="${what}" hidden>Show ${what}</button>`;

/** A text to be carried elsewhere: one click selects the whole of it, and with a script a button copies it. */
export const copyable = (text: string): SafeHtml =>
  safeHtml`<div class="copyable"><code class="value" id="copied">${text}</code>
<button type="button" class="small" data-copy="copied" hidden>Copy</button><span role="status"></span></div>`;

const DURATIONS = [
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const;

/** A number of seconds as text, rounded up: `45 seconds`, `3 minutes`, `3 hours`. */
export function durationText(seconds: number): string {
  const [unit, length] = DURATIONS.find(([, each]) => seconds >= 2 * each) ?? DURATIONS[2];
  const format = new Intl.NumberFormat('en', { style: 'unit', unit, unitDisplay: 'long' });
  return format.format(Math.max(1, Math.ceil(seconds / length)));
}

/** The sentence that follows an error which passes by itself; nothing for others. @param details of the error */
export function retryText(details: Readonly<Record<string, unknown>> | undefined): string {
  const retryAfter = details?.['retryAfter'];
  return typeof retryAfter === 'number' ? ` Try again in ${durationText(retryAfter)}.` : '';
}

/** What somebody who helps needs to know of an error. @param details `requestId`, where the log has it */
export function helpText(error: {
  readonly code: string;
  readonly details?: Readonly<Record<string, unknown>> | undefined;
}): SafeHtml {
  const requestId = error.details?.['requestId'];
  const id = typeof requestId === 'string' ? safeHtml`, request <code>${requestId}</code>` : undefined;
  return safeHtml`<p class="dim">For whoever helps you: <code>${error.code}</code>${id}</p>`;
}
