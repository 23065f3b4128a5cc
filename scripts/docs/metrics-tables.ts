import { METRICS as CONTROL_PLANE } from '@svault/control-plane/metrics';
import type { MetricDeclaration } from '@svault/server-kit/meters';
import { METRICS as WEBHOOK } from '@svault/webhook/metrics';
import { code, sentence, table } from './tables.ts';

const PROGRAMS: Readonly<Record<string, Readonly<Record<string, MetricDeclaration>>>> = {
  'control-plane': CONTROL_PLANE,
  webhook: WEBHOOK,
};

/** The metrics of a program, with every value of each label. */
export const metricsTable = (program: 'control-plane' | 'webhook'): string =>
  table(
    ['Metric', 'Type', 'Meaning', 'Labels'],
    Object.values(PROGRAMS[program] ?? {}).map(({ name, type, help, labels }) => [
      code(name),
      type === 'reading' ? 'gauge' : type,
      sentence(help),
      Object.entries(labels)
        .map(([label, values]) => `${code(label)}: ${values.map(code).join(', ')}`)
        .join('; '),
    ]),
  );
