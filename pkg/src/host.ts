// What a worker's queues know of a model, whatever it is for.

import type { Answer, Ask, EncoderInfo, Kind, Requests, TextInfo } from './protocol.js';

/** The requests that are about one loaded model. */
export type ModelRequest = Ask<Exclude<Kind, 'start' | 'load' | 'unload' | 'memory'>>;

/** A loaded model and what it can be asked for. Errors are thrown as `ErrorMessage`. */
export interface Host {
  readonly info: { precision: 'float32' | 'int8'; text?: TextInfo; encoder?: EncoderInfo };
  /** What the model says at once, or the work that it takes, which begins when its turn comes. */
  take(request: ModelRequest): { answer: Answer } | Work;
  /** Runs what takes long the first time; the answer is `loaded`. Its texts are hundredths. */
  warmUp?: (loaded: Answer) => Run;
  free(): void;
}

/** Of two with the same `lane` one waits for the other; others go on in turn. */
export interface Work {
  lane: number;
  begin: () => Run;
  /** It takes no steps: in an empty lane it is done before anything else, so that what is let go of is not missed. */
  isShort?: true;
}

/** Work under way. */
export interface Run {
  readonly done: boolean;
  step(budgetMs: number): Promise<void>;
  /** Text for the page that has become known since the last call. */
  piece(): string;
  /** Of several texts, how many are done. */
  readonly completed?: number;
  /** The answer, with the buffers in it that go over to the page; frees the run. */
  finish(): { answer: Answer; transfer: ArrayBuffer[] };
  free(): void;
}

/** A request that this kind of model does not know. */
export function unknownTo(what: string, { kind }: ModelRequest): Error {
  return new Error(`'${kind}' asked of ${what}`);
}

/** The answers of a kind. */
export type AnswerOf<K extends Kind> = Requests[K]['answer'];
