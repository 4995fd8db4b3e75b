// Copy only the commands of a console block: no prompts, no output.
for (const block of document.querySelectorAll(".language-console code")) {
  const typed = [];
  let isTyped = false;
  for (const line of block.textContent.split("\n")) {
    isTyped = line.startsWith("$ ") || (isTyped && line.startsWith("> "));
    if (isTyped) typed.push(line.slice(2));
  }
  block.dataset.copy = typed.join("\n");
}
