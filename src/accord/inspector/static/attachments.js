// Content beside the text: pictures, sounds, documents, links. A link stays text.

import { prose } from "./code.js";
import { button, h } from "./dom.js";
import { isObject, shown } from "./json.js";
import { bytes, clip, count } from "./text.js";

const PICTURES = /^image\/(png|jpeg|gif|webp|avif|bmp|svg\+xml)$/;
const SOUNDS = /^audio\/[\w.+-]+$/;
const BASE64 = /^[A-Za-z0-9+/\s]*={0,2}\s*$/;
const MOST = 50;
const LONGEST = 400;

// Split content into what is shown or played and what is only listed.
export function attachments(blocks) {
  const found = blocks.filter((block) => isObject(block) && block.type !== "text");
  const drawn = found.slice(0, MOST).map(attachment);
  const left = found.length - MOST;
  return {
    figures: drawn.filter((each) => each.matches("figure")),
    links: [
      ...drawn.filter((each) => !each.matches("figure")),
      left > 0 ? h("p", { class: "muted" }, `and ${count(left, "more block")}`) : null,
    ],
  };
}

// Release the memory of a document that is no longer shown.
export function release(place) {
  for (const frame of place.querySelectorAll("iframe")) URL.revokeObjectURL(frame.src);
}

function attachment(block) {
  const held = isObject(block.resource) ? block.resource : block;
  const kind = typeof held.mimeType === "string" ? held.mimeType : "";
  const data = held.blob ?? block.data;
  if (typeof data === "string" && BASE64.test(data)) {
    if (PICTURES.test(kind)) return figure(picture(kind, data), kind, data);
    if (SOUNDS.test(kind)) return figure(sound(kind, data), kind, data);
    const raw = kind === "application/pdf" ? decoded(data) : null;
    if (raw) return documentFigure(raw, kind, held.uri);
  }
  const caption = [held.uri, held.name, kind].filter(Boolean).map(shown).join(" ");
  if (block.type === "resource" && typeof held.text === "string")
    return h("figure", {}, prose(held.text, "Embedded text"), h("figcaption", {}, clip(caption, LONGEST)));
  return h("p", { class: "link" }, h("code", {}, clip(caption || shown(block.type ?? null), LONGEST)));
}

function picture(kind, data) {
  return h("img", { src: `data:${kind};base64,${data}`, alt: `Picture, ${kind}` });
}

function sound(kind, data) {
  return h("audio", { controls: true, src: `data:${kind};base64,${data}` });
}

function figure(content, kind, data) {
  const caption = h("figcaption", {}, `${kind}, ${bytes(Math.floor((data.length * 3) / 4))}`);
  content.addEventListener("error", () => caption.append(" that is broken"));
  return h("figure", {}, content, caption);
}

function decoded(data) {
  try {
    return Uint8Array.from(atob(data.replace(/\s/g, "")), (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}

function showLarge(url, name) {
  const dialog = h(
    "dialog",
    { class: "large", "aria-label": name, onclose: () => dialog.remove() },
    h("p", { class: "heading" }, h("strong", {}, name), button("Close", () => dialog.close(), { class: "small" })),
    h("iframe", { src: url, title: name }),
  );
  document.body.append(dialog);
  dialog.showModal();
}

// The browser's viewer shows a PDF; without one, it can be saved.
function documentFigure(raw, kind, uri) {
  const url = URL.createObjectURL(new Blob([raw], { type: kind }));
  const name = clip(
    shown(uri ?? "")
      .split("/")
      .pop() || "document.pdf",
    80,
  );
  const link = h("a", { href: url, download: name }, `Save ${name}`);
  return h(
    "figure",
    { class: "document" },
    h("iframe", { src: url, title: name }),
    h(
      "figcaption",
      {},
      `${kind}, ${bytes(raw.length)} `,
      link,
      " ",
      button("Full screen", () => showLarge(url, name), { class: "small" }),
    ),
  );
}
