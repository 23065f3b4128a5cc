import { AlertDialog } from '@base-ui/react/alert-dialog';
import { Dialog } from '@base-ui/react/dialog';
import { type ComponentProps, type ReactNode, useRef, useState } from 'react';
import { ActionForm, type FormAction } from './form.tsx';

const BACKDROP = 'fixed inset-0 bg-ground/80';
const POPUP =
  'card fixed top-1/2 left-1/2 max-h-[calc(100dvh-2rem)] w-[min(32rem,calc(100vw-2rem))] -translate-1/2 overflow-y-auto';

/** A window over the page. Escape and a click beside it close it, and the focus goes back to where it was. */
export function DialogWindow(props: {
  readonly title: ReactNode;
  readonly open: boolean;
  readonly onOpenChange: (open: boolean) => void;
  readonly children: ReactNode;
}) {
  const { title, children, ...root } = props;
  return (
    <Dialog.Root {...root}>
      <Dialog.Portal>
        <Dialog.Backdrop className={BACKDROP} />
        <Dialog.Popup className={POPUP}>
          <Dialog.Title className="text-lg wrap-anywhere">{title}</Dialog.Title>
          {children}
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

interface Opened<Result> {
  /** Label of the button that opens the window. */
  readonly trigger: ReactNode;
  readonly title: ReactNode;
  readonly submit: string;
  readonly action: FormAction<Result>;
  /** Its promise is awaited before the screens read anew what they show. */
  readonly onDone?: ((result: Result) => unknown) | undefined;
  readonly children?: ReactNode;
}

/** A button that opens a form in a window. The window closes once the action is done. */
export function FormDialog<Result>(props: Opened<Result> & { readonly primary?: boolean }) {
  const { trigger, title, primary, onDone, ...form } = props;
  const [open, setOpen] = useState(false);
  const done = (result: Result): unknown => {
    setOpen(false);
    return onDone?.(result);
  };
  return (
    <>
      <button
        type="button"
        className={primary ? 'button button-primary' : 'button'}
        aria-haspopup="dialog"
        onClick={() => setOpen(true)}
      >
        {trigger}
      </button>
      <DialogWindow title={title} open={open} onOpenChange={setOpen}>
        <ActionForm {...form} onDone={done} onCancel={() => setOpen(false)} />
      </DialogWindow>
    </>
  );
}

/**
 * A button whose act is confirmed first.
 *
 * @param props.children what stops working, and for whom
 * @param props.submit the act as a verb, never "OK"
 * @param props.look attributes of the button, where it is no plain one
 */
export function ConfirmDialog<Result>(
  props: Opened<Result> & { readonly look?: Omit<ComponentProps<'button'>, 'ref' | 'style'> },
) {
  const { trigger, title, children, onDone, look, ...form } = props;
  const [open, setOpen] = useState(false);
  const popup = useRef<HTMLDivElement>(null);
  const done = (result: Result): unknown => {
    setOpen(false);
    return onDone?.(result);
  };
  return (
    <AlertDialog.Root open={open} onOpenChange={setOpen}>
      <AlertDialog.Trigger className="button button-danger" {...look}>
        {trigger}
      </AlertDialog.Trigger>
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className={BACKDROP} />
        <AlertDialog.Popup
          ref={popup}
          className={POPUP}
          // Its first field, or Cancel: a key pressed too early takes nothing away.
          initialFocus={() =>
            popup.current?.querySelector<HTMLElement>('form :is(input, select, textarea, [type=button])')
          }
        >
          <AlertDialog.Title className="text-lg wrap-anywhere">{title}</AlertDialog.Title>
          <AlertDialog.Description render={<div />} className="mt-2 wrap-anywhere">
            {children}
          </AlertDialog.Description>
          <ActionForm {...form} danger onDone={done} onCancel={() => setOpen(false)} />
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}
