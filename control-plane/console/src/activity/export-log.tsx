import { type LogFilter, filterQuery } from '../events/log-filter.ts';

const FORMATS = [
  ['csv', 'CSV'],
  ['jsonl', 'JSON lines'],
] as const;

/** Saves the events that a filter matches as a file, which the browser writes as it comes. */
export function ExportLog({ filter }: { readonly filter: LogFilter }) {
  return (
    <p className="flex flex-wrap items-center gap-x-3 text-sm">
      Export
      {FORMATS.map(([format, name]) => (
        <a
          key={format}
          href={`/api/audit/export?${new URLSearchParams({ format, ...filterQuery(filter) }).toString()}`}
          download
        >
          {name}
        </a>
      ))}
    </p>
  );
}
