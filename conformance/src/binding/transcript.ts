import type { Answer, NoAnswer } from '../http/client.ts';
import type { Address, Invitation } from '../target.ts';

/** What came of one step: its answer, or that none came. */
export type Step = Answer | NoAnswer;

/**
 * The steps of a binding by name, in the order in which they are taken. Everything that has to be refused comes before
 * the right exchange, since that one ends what an unbound webhook shows.
 */
export interface BindingSteps {
  // Nothing is known to the webhook yet.
  /** `GET /bind`. */
  readonly page?: Step | undefined;
  /** The page's form with a set-up token that is none. */
  readonly wrongSetupToken?: Step | undefined;
  /** The same again and again, until it is answered 429; the last of more than 10 within a minute where none was. */
  readonly manyWrongSetupTokens?: Step | undefined;
  /** `GET /v1/health`. */
  readonly openHealth?: Step | undefined;
  /** Signed with a key that is nobody's; by path. */
  readonly unknownKeyAtHealth?: Step | undefined;
  readonly unknownKeyAtStorage?: Step | undefined;
  readonly unknownKeyAtProxy?: Step | undefined;
  readonly unknownKeyAtRefreshNotify?: Step | undefined;
  readonly unknownKeyAtRefresh?: Step | undefined;
  /** `{ op: "rotate" }` under such a key. */
  readonly unknownKeyRotates?: Step | undefined;
  /** `POST /v1/health` without a signature. */
  readonly unsignedHealth?: Step | undefined;
  /** Under an empty key, once with the key id of an exchange; by path. */
  readonly emptyKeyAtHealth?: Step | undefined;
  readonly emptyKeyAtStorage?: Step | undefined;
  readonly emptyKeyAtProxy?: Step | undefined;
  readonly emptyKeyAtRefreshNotify?: Step | undefined;
  readonly emptyKeyAtRefresh?: Step | undefined;
  readonly emptyKeyRotates?: Step | undefined;
  readonly emptyBindKeyAtHealth?: Step | undefined;
  readonly emptyBindKeyAtStorage?: Step | undefined;
  readonly emptyBindKeyAtProxy?: Step | undefined;
  readonly emptyBindKeyAtRefreshNotify?: Step | undefined;
  readonly emptyBindKeyAtRefresh?: Step | undefined;
  /** `POST /v1/health` signed as the exchange is. */
  readonly codeAtHealthUnbound?: Step | undefined;
  /** A ticket under an empty key. */
  readonly emptyKeyTicket?: Step | undefined;

  // Exchanges with one thing wrong.
  readonly unsigned?: Step | undefined;
  readonly wrongCode?: Step | undefined;
  readonly forgedMac?: Step | undefined;
  readonly otherKeyId?: Step | undefined;
  readonly tamperedBody?: Step | undefined;
  readonly expired?: Step | undefined;
  readonly fromTheFuture?: Step | undefined;
  readonly longLived?: Step | undefined;
  readonly withoutLife?: Step | undefined;
  /** The code and the signature hold, and the service's address is not the one that the webhook is configured for. */
  readonly otherService?: Step | undefined;
  readonly serviceWithSlash?: Step | undefined;
  readonly serviceInCapitals?: Step | undefined;
  readonly noService?: Step | undefined;
  /** Without a code, and with one that is no text. */
  readonly noCode?: Step | undefined;
  readonly codeIsNumber?: Step | undefined;

  /** The exchange that was answered with a key; where none was, the first right one. */
  readonly exchange?: Step | undefined;
  /** Right as well, and sent at the same time. */
  readonly exchangeBeside?: Step | undefined;
  readonly exchangeBesideToo?: Step | undefined;

  // The binding is pending.
  readonly usedCodePending?: Step | undefined;
  /** The same with another service's address. */
  readonly usedCodeOtherService?: Step | undefined;
  readonly usedCodeForgedPending?: Step | undefined;
  readonly pagePending?: Step | undefined;
  /** Under the new key's id, and signed with another one. */
  readonly forgedFirst?: Step | undefined;
  readonly ticketFirst?: Step | undefined;
  /** `GET /bind` after those two. */
  readonly pageStillPending?: Step | undefined;
  /** The first valid request under the new key, which completes the binding; a second where the first was refused. */
  readonly firstHealth?: Step | undefined;
  readonly secondHealth?: Step | undefined;

  // The binding is complete.
  readonly pageBound?: Step | undefined;
  readonly wrongSetupTokenBound?: Step | undefined;
  readonly usedCodeBound?: Step | undefined;
  readonly usedCodeForgedBound?: Step | undefined;
  readonly codeAtHealthBound?: Step | undefined;
  /** `{ op: "rotate", code }` signed as an exchange is. */
  readonly codeRotates?: Step | undefined;
  /** The exchange's body under the bound key. */
  readonly codeUnderKey?: Step | undefined;
}

export type StepName = keyof BindingSteps;

/** What a webhook was asked while it was being bound, and what it answered. A step that was not taken is absent. */
export interface BindingTranscript {
  readonly address: Address;
  readonly invitation: Invitation;
  readonly steps: BindingSteps;
}
