import { htmlReport } from './html.ts';
import { junitReport } from './junit.ts';
import type { Report } from './report.ts';
import { textReport, type TextOptions } from './text.ts';

export const FORMATS = ['text', 'json', 'junit', 'html'] as const;
export type Format = (typeof FORMATS)[number];

const BY_ENDING: Readonly<Record<string, Format>> = {
  '.txt': 'text',
  '.json': 'json',
  '.xml': 'junit',
  '.html': 'html',
};

/** @returns nothing where the ending says no format */
export function formatOf(path: string): Format | undefined {
  return BY_ENDING[/\.[^./\\]*$/.exec(path)?.[0].toLowerCase() ?? ''];
}

export function write(report: Report, format: Format, options: TextOptions = {}): string {
  switch (format) {
    case 'text':
      return textReport(report, options);
    case 'json':
      return JSON.stringify(report, null, 2);
    case 'junit':
      return junitReport(report);
    case 'html':
      return htmlReport(report);
  }
}
