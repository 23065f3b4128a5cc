import { Dialog } from '@base-ui/react/dialog';

const KEYS = [
  ['/', 'Go to the filter of a list'],
  ['?', 'Show these keys'],
  ['Esc', 'Close this window'],
] as const;

/** The keys that work on each screen. */
export function KeyboardHelp(props: {
  readonly open: boolean;
  readonly onOpenChange: (open: boolean) => void;
}) {
  return (
    <Dialog.Root {...props}>
      <Dialog.Portal>
        <Dialog.Backdrop className="fixed inset-0 bg-ink/40" />
        <Dialog.Popup className="card fixed top-1/4 left-1/2 w-[min(24rem,calc(100vw-2rem))] -translate-x-1/2">
          <Dialog.Title className="text-lg">Keyboard</Dialog.Title>
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
          <Dialog.Close className="button mt-4">Close</Dialog.Close>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
