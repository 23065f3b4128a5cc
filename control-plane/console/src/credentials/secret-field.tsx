import { type ReactNode, type RefObject, useEffect, useId, useRef, useState } from 'react';
import { CONTROL, useFieldError } from '../parts/form.tsx';

/** PROTOCOL.md section 5.5. */
const MAX_BYTES = 64 * 1_024;

/**
 * A field for a secret. Its text is in the document alone: no state, and no part that would keep a copy, holds it. It is
 * cleared when the field or the page is left, and not offered by the browser again.
 *
 * @param props.lines shown at once; a secret of one line is hidden until its owner asks for it
 * @param props.file what a file may be read for, such as `.pem`
 */
export function SecretField(props: {
  readonly name: string;
  readonly label: ReactNode;
  readonly hint?: ReactNode;
  readonly lines?: number;
  readonly file?: string;
  readonly children?: (field: RefObject<HTMLTextAreaElement | null>) => ReactNode;
}) {
  const { name, label, hint, lines = 1, file, children } = props;
  const id = useId();
  const error = useFieldError(name);
  const field = useClearedOnLeave();
  const [shown, setShown] = useState(lines > 1);
  const described = [hint !== undefined && `${id}-hint`, error !== undefined && `${id}-error`];
  return (
    <div className="grid gap-1">
      <div className="flex flex-wrap items-center justify-between gap-x-3">
        <label htmlFor={id} className="font-medium">
          {label}
        </label>
        <div className="flex gap-3 text-sm">
          {file !== undefined && <FileButton accept={file} field={field} />}
          {lines === 1 && (
            <button
              type="button"
              aria-pressed={shown}
              className="cursor-pointer underline"
              onClick={() => setShown(!shown)}
            >
              Show<span className="sr-only"> {label}</span>
            </button>
          )}
        </div>
      </div>
      <textarea
        ref={field}
        id={id}
        name={name}
        rows={lines}
        autoComplete="off"
        autoCorrect="off"
        autoCapitalize="off"
        spellCheck={false}
        data-1p-ignore
        data-lpignore="true"
        dir="ltr"
        aria-invalid={error !== undefined}
        aria-describedby={described.filter(Boolean).join(' ') || undefined}
        className={`${CONTROL} font-mono text-sm/6 break-all ${lines === 1 ? 'min-h-9.5' : ''} ${shown ? '' : 'secret-hidden'}`}
      />
      {hint !== undefined && (
        <p id={`${id}-hint`} className="text-sm text-dim wrap-anywhere">
          {hint}
        </p>
      )}
      {error !== undefined && (
        <p id={`${id}-error`} className="text-sm text-warn wrap-anywhere">
          {error}
        </p>
      )}
      {children?.(field)}
    </div>
  );
}

/** A page that is left may come back from the browser's memory; a field that is removed may still be referred to. */
function useClearedOnLeave(): RefObject<HTMLTextAreaElement | null> {
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    const { current } = field;
    const clear = (): void => {
      if (current !== null) current.value = '';
    };
    window.addEventListener('pagehide', clear);
    return () => {
      window.removeEventListener('pagehide', clear);
      clear();
    };
  }, []);
  return field;
}

/** Puts a text into a field as if it were typed. */
export function typeInto(field: HTMLInputElement | HTMLTextAreaElement | null, text: string): void {
  if (field === null) return;
  field.value = text;
  field.dispatchEvent(new Event('input', { bubbles: true }));
}

function FileButton(props: {
  readonly accept: string;
  readonly field: RefObject<HTMLTextAreaElement | null>;
}) {
  const { accept, field } = props;
  const [problem, setProblem] = useState<string>();
  const read = async (file: File | undefined): Promise<void> => {
    if (file === undefined) return;
    const text = file.size > MAX_BYTES ? undefined : await textIn(file);
    setProblem(
      text === undefined
        ? file.size > MAX_BYTES
          ? 'The file has more than 64 KiB.'
          : 'The file is not text in UTF-8.'
        : undefined,
    );
    if (text !== undefined) typeInto(field.current, text);
  };
  return (
    <>
      {problem !== undefined && (
        <span role="alert" className="text-warn">
          {problem}
        </span>
      )}
      <label className="cursor-pointer underline focus-within:outline-3 focus-within:outline-offset-2 focus-within:outline-accent">
        Read a file
        <input
          type="file"
          accept={accept}
          className="sr-only"
          onChange={({ target }) => {
            void read(target.files?.[0]);
            // The same file can be chosen again.
            target.value = '';
          }}
        />
      </label>
    </>
  );
}

async function textIn(file: Blob): Promise<string | undefined> {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(await file.arrayBuffer());
  } catch {
    return undefined;
  }
}
