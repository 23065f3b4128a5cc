/** Each escape by itself, so that a broken one hides nothing; as Latin-1, in which ASCII is itself. */
export const decodeEscapes = (text: string): string =>
  text.replaceAll(/%([0-9a-f]{2})/gi, (_escape, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
