import { XMLBuilder } from 'fast-xml-parser';
import { failureLines } from './failure-text.ts';
import type { Report, ReportedCheck } from './report.ts';
import { areasOf } from './text.ts';

const ATTRIBUTE = '@';
// The builder moved to a package that this one brings along.
// oxlint-disable-next-line typescript/no-deprecated
const builder = new XMLBuilder({
  attributeNamePrefix: ATTRIBUTE,
  ignoreAttributes: false,
  suppressBooleanAttributes: false,
  format: true,
  processEntities: true,
});

/**
 * JUnit's XML, for the test views of build servers: a suite per area, a case per check. A MUST that failed is a
 * failure, a check that is not scored is skipped, a SHOULD that failed passes with what was seen in `system-out`.
 */
export function junitReport(report: Report): string {
  const { checks, counts, suite } = report;
  const suites = areasOf(checks).map(([area, its]) => ({
    ...attributes({
      name: `${suite.name}.${area}`,
      tests: its.length,
      failures: its.filter(({ verdict }) => verdict === 'failed').length,
      errors: 0,
      skipped: its.filter(({ verdict }) => verdict === 'skipped').length,
      time: seconds(its.reduce((sum, { durationMs }) => sum + durationMs, 0)),
      timestamp: report.startedAt.replace(/\.\d+Z$/, ''),
    }),
    testcase: its.map(caseOf),
  }));
  const root = {
    ...attributes({
      name: `${suite.name} ${suite.version} ${report.webhook.url}`,
      tests: checks.length,
      failures: counts.failed,
      errors: 0,
      skipped: counts.skipped,
      time: seconds(report.durationMs),
    }),
    testsuite: suites,
  };
  const declaration = { '?xml': attributes({ version: '1.0', encoding: 'UTF-8' }) };
  return builder.build({ ...declaration, testsuites: root }).trimEnd();
}

function caseOf(check: ReportedCheck): object {
  const { id, area, title, verdict, durationMs, requirements, reason, failure } = check;
  const properties = requirements.map((each) => attributes({ name: 'requirement', value: each.id }));
  const returned = failureLines(check).join('\n');
  return {
    ...attributes({
      classname: `svault-conformance.${area}`,
      name: `${id}: ${title}`,
      time: seconds(durationMs),
    }),
    properties: { property: [...properties, attributes({ name: 'level', value: check.level })] },
    ...(verdict === 'skipped' && { skipped: attributes({ message: reason ?? '' }) }),
    ...(verdict === 'failed' && {
      failure: {
        ...attributes({
          message: failure?.expected ?? '',
          type: failure?.notTestable === undefined ? 'MUST' : 'not testable',
        }),
        '#text': returned,
      },
    }),
    ...(verdict === 'warned' && { 'system-out': returned }),
  };
}

function attributes(values: Readonly<Record<string, string | number>>): object {
  return Object.fromEntries(
    // A line feed in an attribute is a space to its reader.
    Object.entries(values).map(([name, value]) => [
      `${ATTRIBUTE}${name}`,
      String(value).replaceAll('\n', ' '),
    ]),
  );
}

const seconds = (ms: number): string => (ms / 1000).toFixed(3);
