import { Field } from '@base-ui/react/field';
import { Form } from '@base-ui/react/form';
import { useQueryClient } from '@tanstack/react-query';
import {
  type ComponentProps,
  type ReactNode,
  type SubmitEvent,
  createContext,
  useContext,
  useEffect,
  useId,
  useRef,
  useState,
} from 'react';
import { flushSync } from 'react-dom';
import { Problem } from '../api/client.ts';
import { Failure } from './failure.tsx';

/** What a form does with its fields. @throws Problem, whose issues are shown beside the fields they name */
export type FormAction<Result> = (values: FormData) => Promise<Result>;

const FieldErrors = createContext<Readonly<Record<string, string>>>({});

/** What the action found wrong with a field, for one that is not made of the parts below. */
export const useFieldError = (name: string): string | undefined => useContext(FieldErrors)[name];

/**
 * A form and its one action. The values stay in the fields: they are in no state, store or cache, they stay when the action
 * fails, and are cleared once it is done. What the screens show is read anew then. A form in which something is typed has
 * `data-typed`: the end of the session does not take it away.
 */
export function ActionForm<Result = unknown>(props: {
  readonly action: FormAction<Result>;
  /** Label of the button that submits. */
  readonly submit: string;
  /** Its promise is awaited before the screens read anew what they show. */
  readonly onDone?: ((result: Result) => unknown) | undefined;
  readonly onCancel?: (() => void) | undefined;
  /** The action takes something away. */
  readonly danger?: boolean;
  /** The form is one button among others. */
  readonly inline?: boolean;
  readonly children?: ReactNode;
}) {
  const { action, submit, onDone, onCancel, danger, inline, children } = props;
  const queryClient = useQueryClient();
  const [failure, setFailure] = useState<unknown>();
  const [errors, setErrors] = useState<Record<string, string>>({});
  const [pending, setPending] = useState(false);
  const running = useRef(false);
  const wrapped = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // The fields mark themselves in a render of their own.
    const frame = requestAnimationFrame(() =>
      wrapped.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus(),
    );
    return () => cancelAnimationFrame(frame);
  }, [errors]);

  const run = async (form: HTMLFormElement): Promise<void> => {
    if (running.current) return;
    running.current = true;
    setPending(true);
    setFailure(undefined);
    setErrors({});
    try {
      const result = await action(new FormData(form));
      form.reset();
      delete form.dataset['typed'];
      // Where that leads to another screen, nothing reads what was deleted any more.
      await onDone?.(result);
      void queryClient.invalidateQueries();
    } catch (error) {
      const { beside, other } = placedIssues(error, form);
      setErrors(beside);
      setFailure(other);
    } finally {
      running.current = false;
      setPending(false);
    }
  };

  return (
    <Form
      className={inline ? 'grid gap-2' : 'mt-3 grid gap-4'}
      autoComplete="off"
      errors={errors}
      aria-busy={pending}
      onInput={({ currentTarget }) => void (currentTarget.dataset['typed'] = '')}
      onSubmit={(event: SubmitEvent<HTMLFormElement>) => {
        event.preventDefault();
        // A form in a window over another form is inside it for React, though not for the document.
        event.stopPropagation();
        void run(event.currentTarget);
      }}
    >
      <div ref={wrapped} className="contents">
        <FieldErrors value={errors}>{children}</FieldErrors>
      </div>
      {failure !== undefined && <Failure error={failure} />}
      <div className="flex flex-wrap gap-3">
        <button
          type="submit"
          aria-disabled={pending}
          // What the last attempt found wrong with one field may be mended in another, and would stop this one. Enter clicks, too.
          onClick={() => flushSync(() => setErrors({}))}
          className={`button ${danger ? 'button-danger' : inline ? '' : 'button-primary'}`}
        >
          {submit}
        </button>
        {onCancel && (
          <button type="button" className="button" onClick={onCancel}>
            Cancel
          </button>
        )}
      </div>
    </Form>
  );
}

/** Issues beside the fields of their names, and the error itself where one of them has no field. */
function placedIssues(error: unknown, form: HTMLFormElement) {
  const beside: Record<string, string> = {};
  let isPlaced = error instanceof Problem && error.issues.length > 0;
  for (const { path, message } of error instanceof Problem ? error.issues : []) {
    const field = fieldFor(path, form);
    if (field === undefined) {
      isPlaced = false;
      continue;
    }
    const before = beside[field] === undefined ? '' : `${beside[field]}; `;
    beside[field] = before + messageAt(path.slice(field.length + 1), message);
  }
  return { beside, other: isPlaced ? undefined : error };
}

/** The field of a path, or that of the list or object in which it is: a field can hold several lines. */
function fieldFor(path: string, form: HTMLFormElement): string | undefined {
  for (let name = path; name !== ''; name = name.slice(0, Math.max(0, name.lastIndexOf('.'))))
    if (form.elements.namedItem(name) !== null) return name;
  return undefined;
}

/** @param rest of the path, within the field: the place of an item, from 0 */
const messageAt = (rest: string, message: string): string =>
  /^[0-9]+$/.test(rest) ? `Number ${Number(rest) + 1} ${message}` : message;

interface FieldProps {
  readonly name: string;
  readonly label: ReactNode;
  /** What is expected, or what it is for. */
  readonly hint?: ReactNode;
  /** @returns what is wrong with a value, as a sentence beside the field; nothing where it is right */
  readonly check?: ((value: string, values: Record<string, unknown>) => string | undefined) | undefined;
}

/** How a control of one field looks. */
export const CONTROL = 'w-full rounded-md border border-dim bg-paper px-2.5 py-1.5 aria-invalid:border-warn';

/** A label, a control, a hint and what is wrong, each told to assistive technology. */
function Labelled(props: FieldProps & { readonly children: ReactNode }) {
  const { name, label, hint, check, children } = props;
  return (
    <Field.Root
      name={name}
      className="grid gap-1"
      validate={(value, values) => check?.(typeof value === 'string' ? value : '', values)}
    >
      <Field.Label className="font-medium">{label}</Field.Label>
      {children}
      {hint !== undefined && (
        <Field.Description className="text-sm text-dim wrap-anywhere">{hint}</Field.Description>
      )}
      <Field.Error className="text-sm text-warn wrap-anywhere" />
    </Field.Root>
  );
}

/** One line of text. */
export function TextField(props: FieldProps & Omit<ComponentProps<'input'>, 'name' | 'ref' | 'style'>) {
  const { name, label, hint, check, className = '', ...input } = props;
  return (
    <Labelled {...{ name, label, hint, check }}>
      <Field.Control {...input} className={`${CONTROL} ${className}`} />
    </Labelled>
  );
}

/** Several lines of text. */
export function TextAreaField(props: FieldProps & Omit<ComponentProps<'textarea'>, 'name' | 'ref'>) {
  const { name, label, hint, check, className = '', ...textarea } = props;
  return (
    <Labelled {...{ name, label, hint, check }}>
      <Field.Control render={<textarea rows={5} {...textarea} />} className={`${CONTROL} ${className}`} />
    </Labelled>
  );
}

/** One of several values. @param props.options each value with its text */
export function SelectField(
  props: FieldProps &
    Omit<ComponentProps<'select'>, 'name' | 'ref' | 'children'> & {
      readonly options: readonly (readonly [value: string, text: string])[];
    },
) {
  const { name, label, hint, check, options, className = '', ...select } = props;
  return (
    <Labelled {...{ name, label, hint, check }}>
      <Field.Control
        render={
          <select {...select}>
            {options.map(([value, text]) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
          </select>
        }
        className={`${CONTROL} ${className}`}
      />
    </Labelled>
  );
}

/** Yes or no: the form has `on` where it is checked, and nothing where it is not. */
export function CheckField(props: {
  readonly name: string;
  readonly label: ReactNode;
  readonly hint?: ReactNode;
  readonly defaultChecked?: boolean;
}) {
  const { name, label, hint, defaultChecked } = props;
  const id = useId();
  const error = useFieldError(name);
  return (
    <div className="grid grid-cols-[auto_1fr] items-baseline gap-x-2">
      <input
        id={id}
        type="checkbox"
        name={name}
        defaultChecked={defaultChecked}
        aria-invalid={error !== undefined}
        aria-describedby={error === undefined ? `${id}-hint` : `${id}-hint ${id}-error`}
        className="size-4 translate-y-0.5 accent-accent"
      />
      <label htmlFor={id} className="font-medium">
        {label}
      </label>
      {hint !== undefined && (
        <span id={`${id}-hint`} className="col-start-2 text-sm text-dim wrap-anywhere">
          {hint}
        </span>
      )}
      {error !== undefined && (
        <span id={`${id}-error`} className="col-start-2 text-sm text-warn wrap-anywhere">
          {error}
        </span>
      )}
    </div>
  );
}

/** The text of a field. @returns an empty text for a field that the form does not have */
export function textOf(values: FormData, name: string): string {
  const value = values.get(name);
  return typeof value === 'string' ? value : '';
}
