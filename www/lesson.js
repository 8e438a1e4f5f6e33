// The tab of the lesson: fetched when it is first shown, and not before.

import { element } from './elements.js';
import { startKeeping } from './offline.js';
import { onceShown } from './tabs.js';

const panel = element('attention-panel', HTMLElement);
const status = element('lesson-status', HTMLElement);

async function open() {
  try {
    // What comes before the service worker is there is not kept.
    await startKeeping();
    const { openLesson } = await import('./lesson/index.js');
    await openLesson(panel);
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    status.textContent = `The lesson did not come (${reason}). It is kept on this device once it was opened with a network; then reload this page.`;
  }
}

onceShown('attention', () => void open());
