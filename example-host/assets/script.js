// Makes the copy buttons work, and "/" lead to the search. The buttons are hidden until this script runs, so that
// they never appear without a function.
"use strict";

for (const button of document.querySelectorAll("button[data-copies]")) {
  const source = document.getElementById(button.dataset.copies);
  const label = button.textContent;
  button.hidden = false;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(source.textContent.trim());
      button.textContent = "Copied";
    } catch {
      // Without access to the clipboard, the text is selected instead.
      getSelection().selectAllChildren(source);
      button.textContent = "Press Ctrl+C";
    }
    setTimeout(() => { button.textContent = label; }, 2000);
  });
}

// "/" leads to the search for records, unless something is being entered.
const everywhere = document.getElementById("everywhere");
addEventListener("keydown", (event) => {
  const entered = event.target.closest?.("input, textarea, select, [contenteditable]");
  if (event.key !== "/" || event.ctrlKey || event.altKey || event.metaKey || entered || !everywhere) return;
  event.preventDefault();
  everywhere.focus();
  everywhere.select();
});
