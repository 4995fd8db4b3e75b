// What is copied from a terminal is what was typed: no prompts, and nothing that was printed.
for (const block of document.querySelectorAll(".language-console code")) {
  const typed = [];
  let isTyped = false;
  for (const line of block.textContent.split("\n")) {
    isTyped = line.startsWith("$ ") || (isTyped && line.startsWith("> "));
    if (isTyped) typed.push(line.slice(2));
  }
  block.dataset.copy = typed.join("\n");
}
