import { Snippet } from './copy.tsx';

/** One thing to do: a sentence, and the text to paste. */
export interface Step {
  readonly says: string;
  readonly text?: string;
}

/** What to do, in its order. */
export function Steps({ steps }: { readonly steps: readonly Step[] }) {
  return (
    <ol className="grid grid-cols-[minmax(0,1fr)] gap-4">
      {steps.map(({ says, text }, index) => (
        <li key={says} className="grid grid-cols-[minmax(0,1fr)] gap-1.5">
          <p>
            {steps.length > 1 && <span className="mr-1.5 text-dim">{index + 1}.</span>}
            {says}
            {text !== undefined && ':'}
          </p>
          {text !== undefined && <Snippet text={text} what={says} />}
        </li>
      ))}
    </ol>
  );
}
