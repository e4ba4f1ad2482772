// Pictures as files, and the full screen.
class Saving {
  constructor(panel) {
    this.panel = panel;
    byId("save-png").addEventListener("click", () => this.png());
    byId("save-svg").addEventListener("click", () => this.svg());
    byId("full").addEventListener("click", () => this.fullScreen());
    document.addEventListener("fullscreenchange", () => (byId("full").textContent = document.fullscreenElement ? "Leave full screen" : "Full screen"));
  }

  name(view, ending) {
    const plain = `${document.title}-${view.title}`.replace(/[^\p{L}\p{N}]+/gu, "-").slice(0, 60).replace(/^-|-$/g, "");
    return `${plain}.${ending}`;
  }

  download(blob, name) {
    const link = element("a", { href: URL.createObjectURL(blob), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    byId("saved").textContent = `Saved ${name}.`;
  }

  png() {
    for (const view of this.panel.views) {
      const canvas = element("canvas", { width: view.canvas.width, height: view.canvas.height }), ctx = canvas.getContext("2d");
      ctx.fillStyle = themed("--card");
      ctx.fillRect(0, 0, canvas.width, canvas.height);
      ctx.drawImage(view.canvas, 0, 0);
      canvas.toBlob((blob) => this.download(blob, this.name(view, "png")));
    }
  }

  svg() {
    for (const view of this.panel.views) this.download(new Blob([view.svg()], { type: "image/svg+xml" }), this.name(view, "svg"));
  }

  fullScreen() {
    if (document.fullscreenElement) document.exitFullscreen();
    else byId("view").requestFullscreen?.().catch(() => (byId("saved").textContent = "This browser does not allow the full screen here."));
  }
}
