// A page opened from a folder (file:) may not start a worker: run the search in an iframe instead.
if (location.protocol === "file:") {
  const loaded = (element, place) =>
    new Promise((resolve) => {
      element.addEventListener("load", resolve, { once: true });
      place.append(element);
    });

  window.Worker = class extends EventTarget {
    onmessage = null;

    constructor(address) {
      super();
      this.addEventListener("message", (event) => this.onmessage?.(event));
      this.frame = document.createElement("iframe");
      this.inside = this.start(address);
    }

    async start(address) {
      this.frame.hidden = true;
      this.frame.srcdoc = "<!doctype html>";
      await loaded(this.frame, document.body);
      const inside = this.frame.contentWindow;
      inside.postMessage = (sent) => {
        const data = structuredClone(sent);
        this.dispatchEvent(new MessageEvent("message", { data }));
      };
      const script = inside.document.createElement("script");
      script.src = address;
      await loaded(script, inside.document.body);
      return inside;
    }

    async postMessage(sent) {
      const data = structuredClone(sent); // as a worker's messages are, before the sender changes them
      const inside = await this.inside;
      inside.dispatchEvent(new inside.MessageEvent("message", { data }));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
