import type { Schemas } from '../api/client.ts';
import { numberText } from './figure.tsx';
import { SERIES, hourOf, totalOf } from './outcome-series.ts';

type Bucket = Schemas['ActivityBucket'];

const HEIGHT = 120;
/** Of the width of a bar, what lies between it and the next. */
const GAP = 0.2;

/** Requests by hour, each hour a bar of outcomes, which differ in pattern as well as in colour; all numbers are in the table. */
export function RequestsChart({ buckets }: { readonly buckets: readonly Bucket[] }) {
  const peak = Math.max(1, ...buckets.map(totalOf));
  const [first, middle] = [buckets[0], buckets[Math.floor(buckets.length / 2)]];
  return (
    <figure className="mt-4">
      <figcaption className="text-sm text-dim">At most {numberText(peak)} an hour</figcaption>
      <svg role="img" aria-label={descriptionOf(buckets)} width="100%" height={HEIGHT} className="mt-1 block">
        <Patterns />
        {buckets.map((bucket, index) => (
          <Bar key={bucket.start} {...{ bucket, index, peak, count: buckets.length }} />
        ))}
      </svg>
      <div aria-hidden="true" className="flex justify-between border-t border-dim pt-0.5 text-sm text-dim">
        <span>{first && hourOf(first)}</span>
        <span>{middle && hourOf(middle)}</span>
        <span>now</span>
      </div>
      <Table buckets={buckets} />
    </figure>
  );
}

function Bar(props: {
  readonly bucket: Bucket;
  readonly index: number;
  readonly count: number;
  readonly peak: number;
}) {
  const { bucket, index, count, peak } = props;
  const width = 100 / count;
  let below = 0;
  return (
    <g>
      <title>{`${hourOf(bucket)}: ${textOf(bucket)}`}</title>
      <rect x={`${index * width}%`} width={`${width}%`} height={HEIGHT} className="fill-transparent" />
      {SERIES.map(({ of, fill }) => {
        // A single request of many is still seen.
        const height = bucket[of] === 0 ? 0 : Math.max(2, (bucket[of] / peak) * (HEIGHT - SERIES.length * 2));
        below += height;
        return (
          height > 0 && (
            <rect
              key={of}
              x={`${(index + GAP / 2) * width}%`}
              width={`${width * (1 - GAP)}%`}
              y={HEIGHT - below}
              height={height}
              className={fill}
            />
          )
        );
      })}
    </g>
  );
}

/** Stripes and dots. */
const Patterns = () => (
  <defs>
    <pattern id="denied" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
      <rect width="6" height="6" className="fill-paper" />
      <rect width="3.5" height="6" className="fill-warn" />
    </pattern>
    <pattern id="rate-limited" width="5" height="5" patternUnits="userSpaceOnUse">
      <rect width="5" height="5" className="fill-line" />
      <circle cx="2.5" cy="2.5" r="1.5" className="fill-dim" />
    </pattern>
  </defs>
);

/** What a figure looks like in the chart. */
export const Swatch = ({ fill }: { readonly fill: string }) => (
  <svg aria-hidden="true" width="12" height="12" className="mr-1.5 inline-block">
    <rect width="12" height="12" rx="2" className={fill} />
  </svg>
);

function Table({ buckets }: { readonly buckets: readonly Bucket[] }) {
  return (
    <details className="mt-2 text-sm">
      <summary className="cursor-pointer text-dim">As a table</summary>
      <table className="mt-2 w-full text-right tabular-nums">
        <thead className="text-dim">
          <tr>
            <th scope="col" className="text-left font-normal">
              Hour from
            </th>
            {SERIES.map(({ of, name }) => (
              <th key={of} scope="col" className="font-normal">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {buckets.map((bucket) => (
            <tr key={bucket.start} className="border-t border-line">
              <th scope="row" className="text-left font-normal">
                {hourOf(bucket)}
              </th>
              {SERIES.map(({ of }) => (
                <td key={of}>{numberText(bucket[of])}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}

const textOf = (counts: Omit<Bucket, 'start'>): string =>
  SERIES.map(({ of, name }) => `${numberText(counts[of])} ${name.toLowerCase()}`).join(', ');

function descriptionOf(buckets: readonly Bucket[]): string {
  const busiest = buckets.reduce<Bucket | undefined>(
    (most, bucket) => (totalOf(bucket) > (most === undefined ? 0 : totalOf(most)) ? bucket : most),
    undefined,
  );
  const hours = `Requests for credentials by hour, for ${buckets.length} hours.`;
  return busiest === undefined
    ? `${hours} There were none.`
    : `${hours} The busiest begins at ${hourOf(busiest)}: ${textOf(busiest)}.`;
}
