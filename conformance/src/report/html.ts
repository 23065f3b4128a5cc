import { createHash } from 'node:crypto';
import { escapeMarkup } from './escape-markup.ts';
import { baseLines } from './failure-text.ts';
import { STYLE } from './html-style.ts';
import type {
  Report,
  ReportedAnswer,
  ReportedCheck,
  ReportedFailure,
  ReportedRequest,
  RequirementCoverage,
} from './report.ts';
import { plural } from './plural.ts';
import type { ShownBody } from './shown-body.ts';
import { capabilitiesText, textSummary } from './text.ts';

/** Nothing is loaded and nothing runs: what a page holds comes from a server that may mean harm. */
const POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; base-uri 'none'; form-action 'none'`;

/** One self-contained page, failures first. */
export function htmlReport(report: Report): string {
  const { webhook, suite, checks, baseline } = report;
  const failed = checks.filter(({ verdict }) => verdict === 'failed');
  const warned = checks.filter(({ verdict }) => verdict === 'warned');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${escapeMarkup(POLICY)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${report.conforms ? 'Conforms' : 'Does not conform'}: ${escapeMarkup(webhook.url)}</title>
<style>${STYLE}</style>
</head>
<body>
<header>
<h1>${escapeMarkup(webhook.url)}</h1>
<p class="verdict ${report.conforms ? 'passed' : 'failed'}">${escapeMarkup(verdictText(report))}${report.interrupted ? ' (interrupted)' : ''}</p>
<p>${escapeMarkup(textSummary(report))}</p>
${countBar(report)}
<dl>
<dt>Capabilities</dt><dd>${escapeMarkup(capabilitiesText(report))}</dd>
<dt>Service</dt><dd>${escapeMarkup(webhook.serviceUrl)}</dd>
${report.leftOut === 0 ? '' : `<dt>Left out</dt><dd>${plural(report.leftOut, 'check')}</dd>`}
<dt>Run</dt><dd>${escapeMarkup(report.startedAt)}, ${(report.durationMs / 1000).toFixed(1)} s, ${escapeMarkup(suite.name)} ${escapeMarkup(suite.version)}</dd>
</dl>
</header>
<main>
${baseline === null ? '' : list('Baseline', [...baseline.unexpected.map((id) => `${id} failed and is not listed`), ...baseline.passing.map((id) => `${id} is listed and passes`), ...baseline.unknown.map((id) => `${id} is listed and is the id of no check`)])}
${section('Failures', failed.map(failureCard))}
${section('Warnings', warned.map(failureCard))}
<h2>All checks</h2>
${checkTable(checks)}
<h2>Requirements</h2>
${requirementTable(report.requirements)}
</main>
</body>
</html>
`;
}

/** What is not claimed was not tested. */
function verdictText(report: Report): string {
  const { conforms, protocol } = report;
  return conforms
    ? `conforms to protocol ${protocol} in what it claims: ${capabilitiesText(report)}`
    : `does not conform to protocol ${protocol}`;
}

function countBar({ counts, checks }: Report): string {
  const bars = [
    ['passed', counts.passed],
    ['failed', counts.failed],
    ['warned', counts.warnings],
    ['skipped', counts.skipped],
  ] as const;
  const segments = bars
    .filter(([, count]) => count > 0)
    .map(
      ([verdict, count]) =>
        `<rect class="${verdict}" width="${count}" height="1" x="${offset(bars, verdict)}"/>`,
    );
  return `<svg class="bar" viewBox="0 0 ${Math.max(checks.length, 1)} 1" preserveAspectRatio="none" role="img" aria-label="passed, failed, warnings, skipped">${segments.join('')}</svg>`;
}

function offset(bars: ReadonlyArray<readonly [string, number]>, verdict: string): number {
  const at = bars.findIndex(([name]) => name === verdict);
  return bars.slice(0, at).reduce((sum, [, count]) => sum + count, 0);
}

function section(title: string, cards: readonly string[]): string {
  return cards.length === 0 ? '' : `<h2>${title} <small>${cards.length}</small></h2>\n${cards.join('\n')}`;
}

function list(title: string, items: readonly string[]): string {
  if (items.length === 0) return '';
  return `<h2>${title}</h2><ul>${items.map((each) => `<li>${escapeMarkup(each)}</li>`).join('')}</ul>`;
}

function failureCard(check: ReportedCheck): string {
  const { id, title, level, verdict, requirements, failure } = check;
  const quoted = requirements.map(
    (each) =>
      `<blockquote><a href="#${escapeMarkup(each.id)}">${escapeMarkup(each.id)}</a> ${escapeMarkup(each.sentence)} <cite>section ${escapeMarkup(each.section)}</cite></blockquote>`,
  );
  return `<article class="card ${verdict}" id="check-${escapeMarkup(id)}">
<h3><code>${escapeMarkup(id)}</code> <span class="tag ${verdict}">${failure?.notTestable === undefined ? level : 'not testable'}</span></h3>
<p>${escapeMarkup(title)}</p>
${quoted.join('\n')}
${failure === undefined ? '' : failureBody(failure)}
</article>`;
}

function failureBody({ expected, sent, received, noAnswer, hints }: ReportedFailure): string {
  return `<dl class="exchange">
<dt>Expected</dt><dd><p>${escapeMarkup(expected)}</p></dd>
${received === undefined ? '' : `<dt>Came back</dt><dd>${answerBlock(received)}</dd>`}
${noAnswer === undefined ? '' : `<dt>Came back</dt><dd><p>nothing: ${escapeMarkup(noAnswer)}</p></dd>`}
${sent === undefined ? '' : `<dt>Sent</dt><dd>${requestBlock(sent)}</dd>`}
${hints.length === 0 ? '' : `<dt>Hints</dt><dd><ul>${hints.map((hint) => `<li>${escapeMarkup(hint)}</li>`).join('')}</ul></dd>`}
</dl>`;
}

function requestBlock(sent: ReportedRequest): string {
  const tickets = sent.tickets.map(
    ({ where, header, claims }) => `The ticket (${where}):\n${header}\n${claims}`,
  );
  const base = sent.signatureBase === undefined ? [] : [baseLines(sent.signatureBase).join('\n')];
  return [messageText(`${sent.method} ${sent.path}`, sent), ...tickets, ...base].map(pre).join('');
}

const answerBlock = (received: ReportedAnswer): string => pre(messageText(String(received.status), received));

function messageText(
  first: string,
  { headers, body }: { readonly headers: ReportedRequest['headers']; readonly body: ShownBody },
): string {
  const lines = [first, ...headers.map(([name, value]) => `${name}: ${value}`)];
  if (body.bytes > 0) lines.push('', body.text + (body.cut ? `… (${body.bytes} bytes in all)` : ''));
  return lines.join('\n');
}

const pre = (text: string): string => `<pre>${escapeMarkup(text)}</pre>`;

function checkTable(checks: readonly ReportedCheck[]): string {
  const rows = checks.map(
    ({ id, title, verdict, level, durationMs, duringBinding, reason, requirements, failure }) => {
      const name =
        failure === undefined
          ? escapeMarkup(id)
          : `<a href="#check-${escapeMarkup(id)}">${escapeMarkup(id)}</a>`;
      const note = reason === undefined ? '' : ` <em>${escapeMarkup(reason)}</em>`;
      return `<tr><td><span class="tag ${verdict}">${verdict}</span></td><td><code>${name}</code></td><td>${escapeMarkup(title)}${note}</td><td>${level}</td><td>${requirements.map((each) => `<a href="#${escapeMarkup(each.id)}">${escapeMarkup(each.id)}</a>`).join(' ')}</td><td class="number">${duringBinding === true ? 'while binding' : `${durationMs} ms`}</td></tr>`;
    },
  );
  return table(['', 'Check', 'What a webhook does', 'Level', 'Requirements', 'Time'], rows);
}

function requirementTable(requirements: readonly RequirementCoverage[]): string {
  const verdictClass = {
    kept: 'passed',
    broken: 'failed',
    'not run': 'skipped',
    unobservable: 'skipped',
  } as const;
  const rows = requirements.map(({ id, section: at, sentence, verdict, checks, unobservable }) => {
    const seen =
      unobservable === undefined
        ? checks.map((each) => `<code>${escapeMarkup(each)}</code>`).join(' ')
        : escapeMarkup(unobservable);
    return `<tr id="${escapeMarkup(id)}"><td><span class="tag ${verdictClass[verdict]}">${verdict}</span></td><td>${escapeMarkup(id)}</td><td>${escapeMarkup(at)}</td><td>${escapeMarkup(sentence)}</td><td>${seen}</td></tr>`;
  });
  return table(['', 'Id', 'Section', 'Requirement', 'Seen by'], rows);
}

function table(heads: readonly string[], rows: readonly string[]): string {
  return `<div class="scroll"><table><thead><tr>${heads.map((head) => `<th>${head}</th>`).join('')}</tr></thead><tbody>\n${rows.join('\n')}\n</tbody></table></div>`;
}
