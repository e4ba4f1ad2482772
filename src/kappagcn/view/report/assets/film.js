// Training as a film: the pictures go from epoch to epoch, through spheres, planes and disks as the curvature changes.
const FILM_SECONDS = 7;

class FilmPlayer {
  constructor(panel, films) {
    Object.assign(this, { panel, films, slider: byId("film-slider"), playing: 0 });
    this.last = Math.max(...films.map((film) => film.epochs.length - 1));
    this.slider.max = String(this.last);
    this.slider.value = this.slider.max;
    this.slider.addEventListener("input", () => {
      this.stop();
      this.show(Number(this.slider.value));
    });
    byId("film-play").addEventListener("click", () => (this.playing ? this.stop() : this.play()));
    byId("film").hidden = false;
    this.words(this.last);
  }

  play() {
    const begin = Number(this.slider.value) >= this.last ? 0 : Number(this.slider.value), begun = performance.now();
    byId("film-play").textContent = "Pause";
    const playing = (this.playing = {});
    const step = () => {
      if (this.playing !== playing) return;
      const at = begin + ((performance.now() - begun) / 1000 / FILM_SECONDS) * this.last;
      this.slider.value = String(Math.min(at, this.last));
      this.show(Math.min(at, this.last));
      if (at < this.last) requestAnimationFrame(step);
      else this.stop();
    };
    step();
  }

  stop() {
    this.playing = 0;
    byId("film-play").textContent = "Play";
  }

  // Pictures at a frame or between two; the last one is the result, which can be moved about in.
  show(at) {
    for (const view of this.panel.views) {
      const film = this.films[view.run], place = Math.min(at, film.epochs.length - 1);
      view.stop();
      if (place >= film.epochs.length - 1) {
        view.show(view.parts, view.factor.k);
        view.reset();
      } else {
        const { parts, k } = between(film, view.order, view.count, place);
        view.show(parts, k);
        view.space.centre();
        const extent = view.space.extent();
        view.camera.home(extent < FILM_CLOSE ? extent : 1);
        view.later();
      }
      this.panel.caption(view);
    }
    this.words(at);
  }

  // Epoch, curvatures and objective as of now.
  words(at) {
    const lines = this.films.map((film) => {
      const place = Math.round(Math.min(at, film.epochs.length - 1)), kappas = film.curvatures[place].map((k) => written(k)).join(", ");
      const value = film.values[place], objective = value === null ? "" : ` · ${film.objective} ${written(value)}`;
      return `${film.name}epoch ${many(film.epochs[place])} of ${many(film.epochs.at(-1))} · κ = ${kappas}${objective}`;
    });
    byId("film-words").replaceChildren(...lines.map((text) => element("span", {}, text)));
  }
}

const FILM_CLOSE = 0.9; // of the disk or sphere: points that stay within it fill the picture

// A factor's coordinates and curvature between two frames; the last of three numbers is the length of what is not shown.
function between(film, order, count, at) {
  const i = Math.floor(at), t = at - i, { width, unit, values } = film.factors[order], parts = new Float64Array(3 * count);
  const size = width * count, from = size * i, to = from + size, one = (1 - t) * unit[i], two = t * unit[i + 1];
  for (let node = 0; node < count; node++)
    for (let part = 0; part < width; part++) {
      const n = width * node + part, value = one * values[from + n] + two * values[to + n];
      parts[3 * node + part] = part < 2 ? value : value * value;
    }
  return { parts, k: (1 - t) * film.curvatures[i][order] + t * film.curvatures[i + 1][order] };
}
