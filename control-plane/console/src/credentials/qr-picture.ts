import { Problem } from '../api/client.ts';

/** A picture is made smaller than this before it is read: a code needs no more, and a larger one takes long. */
const MAX_SIDE = 2_000;
const MAX_FILE_BYTES = 20 * 1_024 * 1_024;
const MAX_MS = 2_000;

/**
 * The text of the QR code in a picture. Nothing of it leaves this computer.
 * @throws Problem
 */
export async function qrCodeIn(picture: Blob): Promise<string> {
  if (picture.size > MAX_FILE_BYTES) throw new Problem('The picture has more than 20 MiB.');
  const { decodeQR } = await import('qr/decode.js');
  const image = await pixelsOf(picture);
  try {
    return decodeQR(image, { timeLimit: MAX_MS, effort: 2 });
  } catch {
    throw new Problem(
      'No QR code can be read in this picture. Take one that shows the whole code with its white border, sharp and straight.',
    );
  } finally {
    image.data.fill(0);
  }
}

async function pixelsOf(picture: Blob): Promise<ImageData> {
  const bitmap = await createImageBitmap(picture).catch(() => undefined);
  if (bitmap === undefined)
    throw new Problem('This is not a picture that the browser can read. Take a PNG or JPEG file.');
  const scale = Math.min(1, MAX_SIDE / Math.max(bitmap.width, bitmap.height));
  const [width, height] = [bitmap.width, bitmap.height].map((side) => Math.max(1, Math.round(side * scale)));
  const context = new OffscreenCanvas(width ?? 1, height ?? 1).getContext('2d');
  if (context === null) throw new Problem('This browser cannot read pictures. Type the secret instead.');
  const { canvas } = context;
  // What is transparent is white.
  context.fillStyle = '#fff';
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  bitmap.close();
  const pixels = context.getImageData(0, 0, canvas.width, canvas.height);
  context.clearRect(0, 0, canvas.width, canvas.height);
  return pixels;
}
