// Paste any reply and see it read, with the rules that fired.

import { ask } from "./api.js";
import { json } from "./code.js";
import { button, empty, h, show } from "./dom.js";
import { how } from "./reading_details.js";
import { person } from "./reading_view.js";

const EXAMPLE = '{"content": [{"type": "text", "text": "Found 2 tables:\\n- users\\n- posts"}]}';

export class Pasted {
  constructor(onError) {
    this.onError = onError;
    this.reply = h("textarea", {
      id: "pasted",
      rows: "10",
      class: "json",
      spellcheck: "false",
      placeholder: "A JSON-RPC reply, a tool result, JSON, or plain text",
      onkeydown: (event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && this.read(),
    });
    this.tool = h("input", { id: "pasted-tool", type: "text", autocomplete: "off", spellcheck: "false" });
    this.place = h(
      "div",
      { "aria-live": "polite" },
      empty("Nothing read yet", "The result has one structure, whichever server sent the reply."),
    );
    this.element = h(
      "div",
      { class: "work" },
      h(
        "header",
        { class: "title" },
        h("h1", {}, "Read a reply"),
        h(
          "p",
          { class: "description" },
          "Paste the reply of any server. It is read without a model; the rules that fired are listed.",
        ),
      ),
      h("div", { class: "field" }, h("label", { for: "pasted", class: "label" }, "Reply"), this.reply),
      h(
        "div",
        { class: "field" },
        h("label", { for: "pasted-tool", class: "label" }, "Tool"),
        this.tool,
        h("p", { class: "description" }, "Optional; the name helps to tell actions from lists."),
      ),
      h(
        "div",
        { class: "actions" },
        button("Read", () => this.read(), { class: "primary" }),
        button("Use an example", () => this.example(), { class: "quiet" }),
      ),
      this.place,
    );
  }

  example() {
    this.reply.value = EXAMPLE;
    this.tool.value = "list_tables";
    this.read();
  }

  async read() {
    const asked = {
      reply: this.reply.value,
      ...(this.tool.value.trim() ? { tool: this.tool.value.trim() } : {}),
    };
    try {
      const reading = await ask("read", JSON.stringify(asked));
      show(this.place, this.view(reading));
    } catch (error) {
      this.onError(error);
    }
  }

  view(reading) {
    return h(
      "div",
      { class: "panes two" },
      pane("Preview", h("div", {}, person(reading, []), how(reading))),
      pane("Generic response", json(reading.response, "Generic response")),
    );
  }
}

function pane(title, content) {
  return h(
    "section",
    { class: "pane", "aria-label": title },
    h("header", {}, h("h2", {}, title)),
    h("div", { class: "body" }, content),
  );
}
