import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { signAdHoc } from './ad-hoc-signature.ts';
import { readMachO } from './mach-o.ts';

const TEXT_BYTES = 8192;
const SEGMENT = 72;
const SECTION = 80;

/** An executable with one section in __TEXT and 1000 bytes in __LINKEDIT. @param textOffset where the section begins */
function executable(textOffset = 4096): Buffer {
  const file = Buffer.alloc(TEXT_BYTES + 1000, 0xaa);
  file.fill(0, 0, textOffset);
  file.writeUInt32LE(0xfeedfacf, 0);
  file.writeUInt32LE(2, 16);
  file.writeUInt32LE(2 * SEGMENT + SECTION, 20);
  segment(32, '__TEXT', 0, TEXT_BYTES, 1);
  file.writeUInt32LE(textOffset, 32 + SEGMENT + 48);
  segment(32 + SEGMENT + SECTION, '__LINKEDIT', TEXT_BYTES, 1000, 0);
  return file;

  function segment(at: number, name: string, offset: number, bytes: number, sections: number): void {
    file.writeUInt32LE(0x19, at);
    file.writeUInt32LE(SEGMENT + sections * SECTION, at + 4);
    file.write(name, at + 8, 'latin1');
    file.writeBigUInt64LE(BigInt(bytes), at + 32);
    file.writeBigUInt64LE(BigInt(offset), at + 40);
    file.writeBigUInt64LE(BigInt(bytes), at + 48);
    file.writeUInt32LE(sections, at + 64);
  }
}

test('every page up to the signature has its hash in it, the header’s new one too', () => {
  const signed = signAdHoc(executable(), 'svault');
  const { signature, segments } = readMachO(signed);
  const { offset, bytes } = signature!;
  expect(offset + bytes).toBe(signed.length);
  const linkEdit = segments.at(-1)!;
  expect(linkEdit.fileOffset + linkEdit.fileBytes).toBe(signed.length);
  expect(linkEdit.virtualBytes).toBeGreaterThanOrEqual(linkEdit.fileBytes);

  expect(signed.readUInt32BE(offset)).toBe(0xfade0cc0);
  const directory = signed.subarray(offset + signed.readUInt32BE(offset + 16));
  expect(directory.readUInt32BE(0)).toBe(0xfade0c02);
  expect(directory.readUInt32BE(12)).toBe(0x20002);
  expect(directory.toString('latin1', directory.readUInt32BE(20)).split('\0')[0]).toBe('svault');
  expect(directory.readUInt32BE(32)).toBe(offset);
  const pages = Array.from({ length: directory.readUInt32BE(28) }, (_, page) =>
    signed.subarray(page * 4096, Math.min((page + 1) * 4096, offset)),
  );
  expect(Buffer.concat(pages).length).toBe(offset);
  pages.forEach((page, index) => {
    const at = directory.readUInt32BE(16) + index * 32;
    expect(directory.subarray(at, at + 32)).toEqual(createHash('sha256').update(page).digest());
  });
});

test('signing changes only the header of the code', () => {
  const plain = executable();
  const signed = signAdHoc(plain, 'svault');
  expect(signed.subarray(4096, plain.length)).toEqual(plain.subarray(4096));
});

test('a signed file, one without room in its header, and one that is no executable are rejected', () => {
  expect(() => signAdHoc(signAdHoc(executable(), 'a'), 'a')).toThrow('has a signature');
  expect(() => signAdHoc(executable(32 + 2 * SEGMENT + SECTION), 'a')).toThrow('no room');
  expect(() => signAdHoc(Buffer.alloc(64), 'a')).toThrow('no Mach-O');
  expect(() => signAdHoc(Buffer.concat([executable(), Buffer.alloc(8)]), 'a')).toThrow('goes on');
});
