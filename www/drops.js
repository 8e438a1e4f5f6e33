// What is dragged onto the page: the panel shows that it would take it, and takes it.

/**
 * Calls `take` with what is dropped, where `isTaken` says of the event that it is for the panel.
 * @param {HTMLElement} panel
 * @param {(event: DragEvent) => boolean} isTaken
 * @param {(dropped: DataTransfer) => void} take
 */
export function onDrop(panel, isTaken, take) {
  addEventListener('dragover', (event) => {
    if (!isTaken(event)) return;
    event.preventDefault();
    panel.classList.add('dropping');
  });
  addEventListener('dragleave', (event) => {
    if (event.relatedTarget === null) panel.classList.remove('dropping');
  });
  addEventListener('drop', (event) => {
    panel.classList.remove('dropping');
    const { dataTransfer } = event;
    if (!isTaken(event) || dataTransfer === null) return;
    event.preventDefault();
    take(dataTransfer);
  });
}
