import type { ReactNode } from 'react';

const format = new Intl.NumberFormat('en');

/** A number as it is shown. @param upTo counting stops at this number: it stands for itself or more */
export const numberText = (value: number, upTo = Infinity): string =>
  value >= upTo ? `${format.format(upTo)} or more` : format.format(value);

/** One number of a description list, with what it counts. */
export function Figure({
  name,
  value,
  note,
}: {
  readonly name: ReactNode;
  readonly value: ReactNode;
  readonly note?: ReactNode;
}) {
  return (
    <div className="flex min-w-0 flex-col">
      <dt className="text-sm text-dim">{name}</dt>
      <dd className="text-lg font-semibold wrap-anywhere">{value}</dd>
      {note !== undefined && <dd className="text-sm text-dim wrap-anywhere">{note}</dd>}
    </div>
  );
}
