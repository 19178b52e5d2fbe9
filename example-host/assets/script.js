// The one thing that pages cannot do by themselves: copy a text. Its buttons are hidden until this
// runs, so that nobody without a script meets one that does nothing.
"use strict";

for (const button of document.querySelectorAll("button[data-copies]")) {
  const source = document.getElementById(button.dataset.copies);
  const said = button.textContent;
  button.hidden = false;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(source.textContent.trim());
      button.textContent = "Copied";
    } catch {
      // Without permission, what is to be copied is at least selected.
      getSelection().selectAllChildren(source);
      button.textContent = "Press Ctrl+C";
    }
    setTimeout(() => { button.textContent = said; }, 2000);
  });
}
