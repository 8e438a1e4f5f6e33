// The one error type of the package, and the standard DOMExceptions beside it.

/** Stable kinds of failure. */
export type ErrorCode =
  | 'model-not-found'
  | 'model-corrupt'
  | 'model-unsupported'
  | 'download-failed'
  | 'out-of-memory'
  | 'device-lost'
  | 'invalid-argument'
  | 'internal';

/** Where and why: everything an error carries besides its message. */
export interface ErrorDetails {
  code: ErrorCode;
  file?: string;
  offset?: number;
  tensor?: string;
  option?: string;
  cause?: unknown;
}

/** What went wrong (`code`), where (`file`, `offset`, `tensor`, `option`) and, in the message, what to do about it. */
export class MultiheadError extends Error {
  readonly code: ErrorCode;
  readonly file?: string;
  readonly offset?: number;
  readonly tensor?: string;
  readonly option?: string;

  constructor(message: string, init: ErrorDetails) {
    super(message, init.cause === undefined ? undefined : { cause: init.cause });
    this.name = 'MultiheadError';
    this.code = init.code;
    if (init.file !== undefined) this.file = init.file;
    if (init.offset !== undefined) this.offset = init.offset;
    if (init.tensor !== undefined) this.tensor = init.tensor;
    if (init.option !== undefined) this.option = init.option;
  }
}

/** An error on its way from the worker to the page. */
export type ErrorMessage = Omit<ErrorDetails, 'cause'> & {
  message: string;
  /** Of an input that is too large: what it takes, and what there is. */
  quota?: Quota;
};

export interface Quota {
  requested: number;
  quota: number;
}

/** The page's side of an {@link ErrorMessage}. */
export function fromMessage({ message, quota, ...details }: ErrorMessage): Error {
  return quota === undefined ? new MultiheadError(message, details) : quotaExceeded(message, quota);
}

/** What the Prompt API has for an input that is too large: where there is no such class, a DOMException of that name. */
function quotaExceeded(message: string, quota: Quota): Error {
  const { QuotaExceededError: Class } = globalThis as {
    QuotaExceededError?: new (message: string, options: Quota) => Error;
  };
  if (Class !== undefined) return new Class(message, quota);
  return Object.assign(new DOMException(message, 'QuotaExceededError'), quota);
}

/** 'invalid-argument', naming the option. */
export function invalid(option: string, what: string, cause?: unknown): MultiheadError {
  return new MultiheadError(`${option}: ${what}`, { code: 'invalid-argument', option, cause });
}

/** A member of the public surface that is not built yet, named. */
export function notBuilt(member: string): DOMException {
  return notSupported(`${member} is not built yet`);
}

/** What cannot be done, and why. */
export function notSupported(what: string): DOMException {
  return new DOMException(`multihead: ${what}`, 'NotSupportedError');
}

/** A call on something that was destroyed. */
export function destroyed(name: string): DOMException {
  return new DOMException(`this ${name} was destroyed`, 'InvalidStateError');
}

/** Longest text that a message repeats. */
const REPEATED = 80;

/** A value as a message shows it. */
export function shown(value: unknown): string {
  return typeof value === 'string'
    ? JSON.stringify(value.length > REPEATED ? `${value.slice(0, REPEATED)}…` : value)
    : value === null
      ? 'null'
      : typeof value === 'number'
        ? String(value)
        : `a ${typeof value}`;
}

/** The text of whatever was thrown. */
export function reasonOf(thrown: unknown): string {
  try {
    return String(thrown instanceof Error ? thrown.message : thrown);
  } catch {
    // Object.create(null) has no text, and of a revoked proxy nothing can be asked.
    return 'what was thrown has no text';
  }
}

/**
 * Calls back to code of the caller that is only told something. What it throws is an uncaught error of its own, as of
 * any listener, and fails no call.
 */
export function tell<T>(listener: ((told: T) => unknown) | undefined, told: T): void {
  try {
    listener?.(told);
  } catch (thrown) {
    queueMicrotask(() => {
      throw thrown;
    });
  }
}

/** Why an address could not be reached, and what to look at: fetch and its streams say little of the network's faults. */
export function networkFault(thrown: unknown): string {
  const deeper = thrown instanceof Error && thrown.cause instanceof Error ? `: ${thrown.cause.message}` : '';
  const page = typeof document === 'undefined' ? '' : ", and does the page's connect-src allow the address";
  return `${reasonOf(thrown)}${deeper}. Is the network there${page}?`;
}

/** A part of the package that not every page needs, once it is loaded. */
export async function part<T>(name: string, loading: Promise<T>): Promise<T> {
  try {
    return await loading;
  } catch (cause) {
    throw new MultiheadError(
      `${name} could not be loaded: ${reasonOf(cause)}. Is it served beside the package?`,
      {
        code: 'download-failed',
        file: name,
        cause,
      },
    );
  }
}
