import { DialogWindow } from '../parts/dialog.tsx';

const KEYS = [
  ['/', 'Go to the search of a list'],
  ['j', 'Next line of a list'],
  ['k', 'Line before'],
  ['Enter', 'Open the line'],
  ['?', 'Show these keys'],
  ['Esc', 'Close this window'],
] as const;

/** The keys that work on each screen. */
export function KeyboardHelp(props: {
  readonly open: boolean;
  readonly onOpenChange: (open: boolean) => void;
}) {
  return (
    <DialogWindow title="Keyboard" {...props}>
      <dl className="mt-3 grid grid-cols-[auto_1fr] gap-x-4 gap-y-2">
        {KEYS.map(([key, what]) => (
          <div key={key} className="contents">
            <dt>
              <kbd className="rounded border border-line bg-ground px-2 font-mono">{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <button type="button" className="button mt-4" onClick={() => props.onOpenChange(false)}>
        Close
      </button>
    </DialogWindow>
  );
}
