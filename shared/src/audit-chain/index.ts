export { CHAIN_START, canonicalJson, chainHash } from './hash-chain.ts';
export { COPIED_MEMBERS, EMPTY_CHAIN, eventHash, eventText, followChain, hashedText } from './event-chain.ts';
export type { ChainBreak, ChainHead, ChainedEvent } from './event-chain.ts';
export { copiedEvent, withTakeableText } from './copied-event.ts';
export { checkpointOrigin, checkpointText, isKeyName, readCheckpoint } from './checkpoint.ts';
export type { Checkpoint, NoteSignature } from './checkpoint.ts';
export { createCosignerKey, createLogKey, isSignedBy, readNoteKey } from './note-key.ts';
export type { NoteKey } from './note-key.ts';
