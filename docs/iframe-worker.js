// A page opened from a folder (file:) may not start a worker: run the search in an iframe instead.
if (location.protocol === "file:") {
  const loaded = (element, place) =>
    new Promise((resolve) => {
      element.addEventListener("load", resolve, { once: true });
      place.append(element);
    });

  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.inside = this.start(address);
    }

    async start(address) {
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.srcdoc = "<!doctype html>";
      await loaded(frame, document.body);
      const inside = frame.contentWindow;
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = inside.document.createElement("script");
      script.src = address;
      await loaded(script, inside.document.body);
      return inside;
    }

    async postMessage(data) {
      const inside = await this.inside;
      inside.dispatchEvent(new inside.MessageEvent("message", { data }));
    }
  };
}
