/** Reads of a Mach-O executable what a signature is about (Apple's <mach-o/loader.h>): 64 bits, little endian, one architecture. */

const MAGIC_64 = 0xfeedfacf;
const HEADER_BYTES = 32;
const NUMBER_OF_COMMANDS_AT = 16;
const SIZE_OF_COMMANDS_AT = 20;
const LC_SEGMENT_64 = 0x19;
const LC_CODE_SIGNATURE = 0x1d;
const SIGNATURE_COMMAND_BYTES = 16;
const SEGMENT_BYTES = 72;
const SECTION_BYTES = 80;

/** Of a segment. `at` is where its load command begins. */
export interface Segment {
  readonly at: number;
  readonly name: string;
  readonly fileOffset: number;
  readonly fileBytes: number;
  readonly virtualBytes: number;
  /** Where in the file its first section begins; undefined where it has none. */
  readonly firstSection: number | undefined;
}

export interface MachO {
  readonly segments: readonly Segment[];
  /** Where the signature is; undefined where there is none. */
  readonly signature: { readonly offset: number; readonly bytes: number } | undefined;
  readonly commands: { readonly count: number; readonly end: number };
}

/** @throws Error for anything else */
export function readMachO(file: Buffer): MachO {
  if (file.readUInt32LE(0) !== MAGIC_64) throw new Error('no Mach-O executable of 64 bits');
  const count = file.readUInt32LE(NUMBER_OF_COMMANDS_AT);
  const segments: Segment[] = [];
  let signature: MachO['signature'];
  let at = HEADER_BYTES;
  for (let index = 0; index < count; index++) {
    const command = file.readUInt32LE(at);
    if (command === LC_SEGMENT_64) segments.push(segmentAt(file, at));
    if (command === LC_CODE_SIGNATURE)
      signature = { offset: file.readUInt32LE(at + 8), bytes: file.readUInt32LE(at + 12) };
    at += file.readUInt32LE(at + 4);
  }
  return { segments, signature, commands: { count, end: at } };
}

function segmentAt(file: Buffer, at: number): Segment {
  const sections = Array.from({ length: file.readUInt32LE(at + 64) }, (_, index) =>
    file.readUInt32LE(at + SEGMENT_BYTES + index * SECTION_BYTES + 48),
  ).filter((offset) => offset > 0);
  return {
    at,
    name: file.toString('latin1', at + 8, at + 24).replace(/\0+$/, ''),
    virtualBytes: Number(file.readBigUInt64LE(at + 32)),
    fileOffset: Number(file.readBigUInt64LE(at + 40)),
    fileBytes: Number(file.readBigUInt64LE(at + 48)),
    firstSection: sections.length === 0 ? undefined : Math.min(...sections),
  };
}

/** @throws Error where it has none of that name */
export function segmentOf({ segments }: MachO, name: string): Segment {
  const found = segments.find((each) => each.name === name);
  if (found === undefined) throw new Error(`the executable has no segment ${name}`);
  return found;
}

/**
 * Makes room for a signature at the end of an executable that has none, and says so in its header.
 * @param bytes of a signature that goes to this place in the file
 * @returns the executable, with zeros where the signature goes
 * @throws Error where it has one, or no room in its header
 */
export function announceSignature(file: Buffer, bytes: (offset: number) => number): Buffer {
  const executable = readMachO(file);
  if (executable.signature !== undefined) throw new Error('the executable has a signature');
  const { count, end } = executable.commands;
  const text = segmentOf(executable, '__TEXT');
  if (text.firstSection === undefined || end + SIGNATURE_COMMAND_BYTES > text.firstSection)
    throw new Error('the executable has no room for another load command');
  const linkEdit = segmentOf(executable, '__LINKEDIT');
  if (linkEdit.fileOffset + linkEdit.fileBytes !== file.length)
    throw new Error('the executable goes on behind its last segment');

  const offset = roundUp(file.length, SIGNATURE_ALIGNMENT);
  const room = roundUp(bytes(offset), SIGNATURE_ALIGNMENT);
  const signed = Buffer.alloc(offset + room);
  file.copy(signed);
  signed.writeUInt32LE(count + 1, NUMBER_OF_COMMANDS_AT);
  signed.writeUInt32LE(end + SIGNATURE_COMMAND_BYTES - HEADER_BYTES, SIZE_OF_COMMANDS_AT);
  signed.writeUInt32LE(LC_CODE_SIGNATURE, end);
  signed.writeUInt32LE(SIGNATURE_COMMAND_BYTES, end + 4);
  signed.writeUInt32LE(offset, end + 8);
  signed.writeUInt32LE(room, end + 12);
  const linkEditBytes = signed.length - linkEdit.fileOffset;
  signed.writeBigUInt64LE(BigInt(roundUp(linkEditBytes, MAX_PAGE_BYTES)), linkEdit.at + 32);
  signed.writeBigUInt64LE(BigInt(linkEditBytes), linkEdit.at + 48);
  return signed;
}

const SIGNATURE_ALIGNMENT = 16;
/** Of Apple’s processors; a multiple of Intel’s. */
const MAX_PAGE_BYTES = 16_384;
const roundUp = (value: number, step: number): number => Math.ceil(value / step) * step;
