import { useState } from 'react';

/** Copies a text. Where the browser does not allow it, the text beside the button can be selected. */
function CopyButton({ text, what }: { readonly text: string; readonly what: string }) {
  const [state, setState] = useState<'Copy' | 'Copied' | 'Not copied'>('Copy');
  const copy = (): void =>
    void navigator.clipboard.writeText(text).then(
      () => setState('Copied'),
      () => setState('Not copied'),
    );
  return (
    <button type="button" className="button flex-none" onClick={copy} onBlur={() => setState('Copy')}>
      <span aria-live="polite">{state}</span>
      <span className="sr-only"> {what}</span>
    </button>
  );
}

/** Text to be pasted somewhere else: a command, a file. @param props.what names it for assistive technology */
export function Snippet({ text, what }: { readonly text: string; readonly what: string }) {
  return (
    <div className="flex items-start gap-2">
      <pre
        tabIndex={0}
        role="group"
        aria-label={what}
        className="max-h-96 min-w-0 grow overflow-auto rounded-md max-sm:wrap-anywhere max-sm:whitespace-pre-wrap border border-line bg-ground px-3 py-2 text-sm"
      >
        <code>{text}</code>
      </pre>
      <CopyButton {...{ text, what }} />
    </div>
  );
}

/** A key that is shown now. It is nowhere but on this screen: leaving it forgets the key. */
export function OneTimeValue({ value, what }: { readonly value: string; readonly what: string }) {
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-1">
      <p className="font-medium">{what}</p>
      <Snippet text={value} what={what} />
      <p className="text-sm text-dim">Copy it now. It is not shown again on this screen.</p>
    </div>
  );
}
