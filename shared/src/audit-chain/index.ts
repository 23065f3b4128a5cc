export { CHAIN_START, canonicalJson, chainHash } from './hash-chain.ts';
export { EMPTY_CHAIN, eventHash, followChain, hashedText } from './event-chain.ts';
export type { ChainBreak, ChainHead, ChainedEvent } from './event-chain.ts';
export { copiedEvent, withTakeableText } from './copied-event.ts';
