import { type RefObject, useEffect, useState } from 'react';
import { Problem } from '../api/client.ts';
import { qrCodeIn } from './qr-picture.ts';
import { typeInto } from './secret-field.tsx';

/** Reads the QR code that a provider shows, from a file, by paste or by drop, and puts what it says into the field. */
export function TotpPicture({ field }: { readonly field: RefObject<HTMLTextAreaElement | null> }) {
  const [said, setSaid] = useState<{ readonly text: string; readonly isProblem: boolean }>();
  const read = async (picture: Blob | undefined): Promise<void> => {
    if (picture === undefined) return;
    setSaid({ text: 'Reading the picture…', isProblem: false });
    try {
      const text = await qrCodeIn(picture);
      if (!/^otpauth/i.test(text)) throw new Problem('This QR code is not one for one-time codes.');
      typeInto(field.current, text);
      setSaid({ text: 'The QR code is read. Check what it is for, and store it.', isProblem: false });
    } catch (error) {
      const known = error instanceof Problem ? error.message : 'The picture could not be read.';
      setSaid({ text: known, isProblem: true });
    }
  };
  useEffect(() => {
    const onPaste = ({ clipboardData }: ClipboardEvent): void => void read(pictureIn(clipboardData));
    document.addEventListener('paste', onPaste);
    return () => document.removeEventListener('paste', onPaste);
  });
  return (
    <div
      className="mt-1 grid justify-items-start gap-2 rounded-md border border-dashed border-dim px-3 py-3"
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        void read(pictureIn(event.dataTransfer));
      }}
    >
      <p className="text-sm text-dim">
        Or a picture of the QR code: paste it, drop it here, or choose a file.
      </p>
      <label className="button focus-within:outline-3 focus-within:outline-offset-2 focus-within:outline-accent">
        Choose a picture
        <input
          type="file"
          accept="image/*"
          className="sr-only"
          onChange={({ target }) => {
            void read(target.files?.[0]);
            target.value = '';
          }}
        />
      </label>
      <p role="status" className={`text-sm ${said?.isProblem === true ? 'text-warn' : 'text-good'}`}>
        {said?.text}
      </p>
    </div>
  );
}

const pictureIn = (data: DataTransfer | null): File | undefined =>
  [...(data?.files ?? [])].find(({ type }) => type.startsWith('image/'));
