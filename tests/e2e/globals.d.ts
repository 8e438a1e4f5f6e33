// What the tests leave on the global scope of their pages.

import type * as multiheadPackage from '../../pkg/dist/index.js';

/** What a worker has asked of its GPU since it began. */
export interface GpuCounts {
  dispatches: number;
  submits: number;
  reads: number;
  pipelines: number;
  groups: number;
  devices: number;
}

declare global {
  /** The package. */
  var multihead: typeof multiheadPackage;
  /** One that is used by call after call. */
  var translator: multiheadPackage.Translator;
  /** One that keeps its model in memory. */
  var holder: multiheadPackage.LanguageModel;
  /** Ends the call under way. */
  var stopping: AbortController;
  /** What became of a call, or will. */
  var outcome: Promise<string>;
  /** How far the model has come, from 0 to 1. */
  var progress: number | undefined;
  /** Lengths of the translation as it grew. */
  var seenLengths: number[];
  /** What a watched worker asks of its GPU, and how to lose it after so many submits. */
  var gpu: { counts(): Promise<GpuCounts>; loseAfter(submits: number): void };
  /** Weights that were looked at last, while anything holds them. */
  var looked: WeakRef<Float32Array>;
  /** Ends the wait of what a test holds back. */
  var letGo: () => void;
  /** When something was typed last, by the page's clock. */
  var typedAt: number | undefined;
}
