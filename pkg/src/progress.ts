// Download progress as the W3C's monitor sees it: `loaded` goes from 0 to `total` = 1 over all files together.

import type { CreateMonitor, DownloadProgressEvent } from './types.js';

class Progress extends Event implements DownloadProgressEvent {
  readonly loaded: number;
  readonly total = 1;
  readonly lengthComputable = true;

  constructor(loaded: number) {
    super('downloadprogress');
    this.loaded = loaded;
  }
}

/** Makes the monitor that `setUp` (the caller's option) fills with listeners, and returns how to report a fraction to it. */
export function monitored(setUp: ((monitor: CreateMonitor) => void) | undefined): (loaded: number) => void {
  if (setUp === undefined) return () => undefined;
  const monitor = new EventTarget() as CreateMonitor;
  monitor.ondownloadprogress = null;
  // A handler is a listener as well: what it throws is reported, and fails no load. One that is no function is none.
  monitor.addEventListener('downloadprogress', (event) => {
    const handler: unknown = monitor.ondownloadprogress;
    if (typeof handler === 'function') handler.call(monitor, event);
  });
  setUp(monitor);
  const tell = (loaded: number): void => {
    monitor.dispatchEvent(new Progress(loaded));
  };
  let last = -1;
  return (loaded) => {
    if (loaded <= last) return;
    // The first is 0, also where all is here already.
    if (last < 0 && loaded > 0) tell(0);
    last = loaded;
    tell(loaded);
  };
}
