// SPDX-License-Identifier: Apache-2.0
'use strict';
(() => {
  const data = JSON.parse(document.getElementById('timelines').textContent);
  const STRIDE = 7; // numbers for each span: lane, row, start, duration, kind, name, digest
  const LABEL = 16, ROW = 13, GAP = 8, AXIS = 22; // pixels
  const REACH = 10; // pixels: how far from a span a finger may be

  const colour = name => getComputedStyle(document.documentElement)
    .getPropertyValue('--' + (name || 'cache')).trim();

  function duration(ns) {
    if (ns === 0) return '0';
    const [value, unit] = ns >= 1e9 ? [ns / 1e9, 's'] : ns >= 1e6 ? [ns / 1e6, 'ms']
      : [ns / 1e3, 'µs'];
    return `${value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)} ${unit}`;
  }

  // A place on the axis, in the unit of the distance to the next one.
  function tick(ns, step) {
    const [unit, name] = step >= 1e9 ? [1e9, 's'] : step >= 1e6 ? [1e6, 'ms'] : [1e3, 'µs'];
    return ns === 0 ? '0' : `${Number((ns / unit).toFixed(3))} ${name}`;
  }

  // The next of 1, 2, 5, 10, … that is not below `ns`.
  function round(ns) {
    const power = 10 ** Math.floor(Math.log10(ns));
    return power * [1, 2, 5, 10].find(factor => factor * power >= ns * 0.999);
  }

  // One run: its spans by row, and the canvas they are drawn on.
  class Track {
    constructor(canvas, run) {
      this.canvas = canvas;
      this.end = 1;
      const lanes = run.lanes.map(
        lane => ({name: lane.name, rows: Array.from({length: lane.rows}, () => [])}));
      const numbers = run.spans;
      for (let i = 0; i < numbers.length; i += STRIDE) {
        const [lane, row, start, length, kind, name, digest] = numbers.slice(i, i + STRIDE);
        lanes[lane].rows[row].push({start, end: start + length, kind, name, digest});
        this.end = Math.max(this.end, start + length);
      }
      this.place(lanes.filter(lane => lane.rows.some(row => row.length)));
      canvas.dataset.spans = numbers.length / STRIDE;
    }

    // The program's own threads come first.
    place(lanes) {
      const ours = lane => lane.name.startsWith('warmpipe') ? 1 : 0;
      this.lanes = lanes.sort((a, b) => ours(a) - ours(b));
      this.height = AXIS;
      for (const lane of this.lanes) {
        lane.top = this.height - AXIS;
        this.height += LABEL + lane.rows.length * ROW + GAP;
      }
    }

    // The spans of a row that touch [from, to]; in all rows but the last of a lane none overlap.
    static *between(row, from, to) {
      let low = 0, high = row.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (row[middle].end < from) low = middle + 1; else high = middle;
      }
      for (; low < row.length && row[low].start <= to; low++) yield row[low];
    }

    draw(view, colours, chosen) {
      const width = this.canvas.clientWidth, ratio = window.devicePixelRatio || 1;
      this.canvas.style.height = this.height + 'px';
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(this.height * ratio);
      const context = this.canvas.getContext('2d');
      context.scale(ratio, ratio);
      context.font = '12px ' + getComputedStyle(document.body).fontFamily;
      const x = ns => (ns - view.from) / (view.to - view.from) * width;
      this.drawAxis(context, view, width, x, colours);
      let drawn = 0;
      for (const lane of this.lanes) {
        context.fillStyle = colours.quiet;
        context.fillText(lane.name, 0, lane.top + LABEL - 4);
        lane.rows.forEach((row, index) => {
          drawn += this.drawRow(context, row, lane.top + LABEL + index * ROW, view, x, colours,
            chosen);
        });
      }
      this.canvas.dataset.drawn = drawn;
    }

    drawAxis(context, view, width, x, colours) {
      const step = round((view.to - view.from) / Math.max(3, width / 90));
      const bottom = this.height - AXIS;
      context.textBaseline = 'alphabetic';
      for (let ns = Math.ceil(view.from / step) * step; ns <= view.to; ns += step) {
        context.fillStyle = colours.line;
        context.fillRect(Math.round(x(ns)), 0, 1, bottom + 4);
        const label = tick(ns, step), room = context.measureText(label).width;
        context.fillStyle = colours.quiet;
        context.fillText(label, Math.min(Math.max(x(ns) - room / 2, 0), width - room),
          this.height - 5);
      }
    }

    // Spans narrower than a pixel share one; the most expensive kind (the first) wins.
    drawRow(context, row, top, view, x, colours, chosen) {
      let drawn = 0, pixel = -1, best = Infinity;
      for (const span of Track.between(row, view.from, view.to)) {
        drawn++;
        const left = x(span.start), right = Math.max(x(span.end), left + 1);
        const marked = chosen && span.digest === chosen;
        if (right - left < 1.5 && !marked) {
          if (Math.floor(left) === pixel && span.kind >= best) continue;
          pixel = Math.floor(left);
          best = span.kind;
        }
        context.globalAlpha = chosen && !marked ? 0.3 : 1;
        context.fillStyle = colours.kinds[span.kind];
        const gap = right - left > 4 ? 0.5 : 0;
        context.fillRect(left, top, right - left - gap, ROW - 2);
        if (marked) {
          context.globalAlpha = 1;
          context.strokeStyle = colours.text;
          context.lineWidth = 1.5;
          context.strokeRect(left - 1, top - 0.5, right - left + 2, ROW - 1);
        }
      }
      context.globalAlpha = 1;
      return drawn;
    }

    // The span at a place of the canvas, or the nearest one in reach, and its lane.
    at(px, py, view) {
      const lane = this.lanes.findLast(lane => lane.top <= py);
      if (!lane) return null;
      const scale = (view.to - view.from) / this.canvas.clientWidth;
      const time = view.from + px * scale;
      const index = Math.min(Math.max(Math.floor((py - lane.top - LABEL) / ROW), 0),
        lane.rows.length - 1);
      let nearest = null, least = REACH * scale;
      for (const span of Track.between(lane.rows[index], time - least, time + least)) {
        const distance = Math.max(span.start - time, time - span.end, 0);
        if (distance < least || (nearest === null && distance === 0)) {
          least = distance;
          nearest = span;
        }
      }
      return nearest && {span: nearest, lane};
    }
  }

  // The runs of one program on one scale.
  class Timelines {
    constructor(figure, program) {
      this.figure = figure;
      this.program = program;
      this.detail = figure.querySelector('.detail');
      this.hint = 'Touch or point at a span. Pinch, the buttons, or ctrl and the wheel zoom; ' +
        'drag to move.';
      this.detail.textContent = this.hint;
      this.tracks = [...figure.querySelectorAll('canvas')]
        .map((canvas, index) => new Track(canvas, program.runs[index]));
      this.end = Math.max(...this.tracks.map(track => track.end));
      this.pointers = new Map();
      this.addTools();
      figure.hidden = false;
      figure.closest('section').querySelector('h3[hidden]').hidden = false;
      for (const track of this.tracks) this.listen(track);
      this.addDigests();
      new ResizeObserver(() => this.draw()).observe(figure);
      matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.restyle());
      matchMedia('print').addEventListener('change', () => {
        this.restyle();
        this.drawNow(); // paper does not wait for the next frame
      });
      this.restyle();
      this.reset();
    }

    restyle() {
      this.colours = {
        kinds: data.kinds.map(colour), text: colour('text'), quiet: colour('quiet'),
        line: colour('line'),
      };
      this.draw();
    }

    reset() {
      this.show(0, this.end * 1.01);
    }

    show(from, to) {
      const whole = this.end * 1.01, length = Math.min(Math.max(to - from, 1000), whole);
      const start = Math.min(Math.max(from, 0), whole - length);
      this.view = {from: start, to: start + length};
      this.draw();
    }

    // Changes the scale, what is at `share` of the width staying where it is.
    zoom(factor, share = 0.5) {
      const {from, to} = this.view, centre = from + (to - from) * share;
      this.show(centre - (centre - from) / factor, centre + (to - centre) / factor);
    }

    move(share) {
      const length = this.view.to - this.view.from;
      this.show(this.view.from + share * length, this.view.to + share * length);
    }

    draw() {
      if (this.due || !this.view) return;
      this.due = true;
      requestAnimationFrame(() => {
        this.due = false;
        this.drawNow();
      });
    }

    drawNow() {
      for (const track of this.tracks) track.draw(this.view, this.colours, this.chosen);
    }

    addTools() {
      const tools = this.figure.querySelector('.tools');
      const button = (text, label, action) => {
        const element = document.createElement('button');
        element.type = 'button';
        element.textContent = text;
        element.setAttribute('aria-label', label);
        element.addEventListener('click', action);
        tools.append(element);
      };
      button('−', 'zoom out', () => this.zoom(1 / 2));
      button('+', 'zoom in', () => this.zoom(2));
      button('All', 'show all', () => this.reset());
      for (const track of this.tracks) {
        if (track.end < this.end / 3) {
          button('Warm', 'show the warm start', () => this.show(0, track.end * 1.01));
        }
      }
      const used = new Set(this.program.runs.flatMap(
        run => run.spans.filter((_, index) => index % STRIDE === 4)));
      const key = document.createElement('ul');
      key.className = 'key';
      data.kinds.forEach((kind, index) => {
        if (!used.has(index) || !kind) return;
        const item = document.createElement('li'), swatch = document.createElement('i');
        swatch.className = kind;
        item.append(swatch, kind);
        key.append(item);
      });
      tools.append(key);
    }

    // In the tables of this program a digest shows its spans.
    addDigests() {
      for (const code of this.figure.closest('section').querySelectorAll('td > code')) {
        const digest = this.program.digests.indexOf(code.textContent) + 1;
        if (!digest) continue;
        const button = document.createElement('button');
        button.type = 'button';
        button.title = 'show in the timelines';
        code.replaceWith(button);
        button.append(code);
        button.addEventListener('click', () => {
          this.choose(digest);
          this.tell(this.slowest(digest));
          this.figure.scrollIntoView({block: 'nearest'});
        });
      }
    }

    choose(digest) {
      this.chosen = digest;
      this.draw();
    }

    // The longest span of all that have this digest, and its lane.
    slowest(digest) {
      const found = this.tracks.flatMap(track => track.lanes).flatMap(lane => lane.rows.flat()
        .filter(span => span.digest === digest).map(span => ({span, lane})));
      return found.reduce((a, b) => a.span.end - a.span.start >= b.span.end - b.span.start ? a : b);
    }

    tell(found) {
      if (!found) {
        this.detail.textContent = this.hint;
        return;
      }
      const {span, lane} = found;
      const digest = span.digest ? this.program.digests[span.digest - 1] : '';
      this.detail.textContent = [
        data.names[span.name] + (digest ? ' ' + digest : ''), data.kinds[span.kind],
        `${duration(span.end - span.start)} at ${duration(span.start)}`, lane.name,
      ].filter(Boolean).join(' · ');
    }

    listen(track) {
      const canvas = track.canvas, pointers = this.pointers;
      const share = event => event.offsetX / canvas.clientWidth;
      canvas.addEventListener('wheel', event => {
        if (event.ctrlKey || event.metaKey) {
          event.preventDefault();
          this.zoom(2 ** (-event.deltaY / 200), share(event));
        } else if (event.deltaX) {
          event.preventDefault();
          this.move(event.deltaX / canvas.clientWidth);
        }
      }, {passive: false});
      canvas.addEventListener('pointerdown', event => {
        canvas.setPointerCapture(event.pointerId);
        pointers.set(event.pointerId, {x: event.offsetX, moved: 0});
      });
      canvas.addEventListener('pointermove', event => {
        const pointer = pointers.get(event.pointerId);
        if (!pointer) {
          this.tell(track.at(event.offsetX, event.offsetY, this.view));
          return;
        }
        const before = pointer.x;
        pointer.x = event.offsetX;
        pointer.moved += Math.abs(pointer.x - before);
        if (pointers.size === 1 && pointer.moved > 3) {
          this.move((before - pointer.x) / canvas.clientWidth);
        } else if (pointers.size === 2) {
          this.pinch([...pointers.values()].find(other => other !== pointer).x, before, pointer.x,
            canvas.clientWidth);
        }
      });
      const end = event => {
        const pointer = pointers.get(event.pointerId);
        pointers.delete(event.pointerId);
        if (event.type === 'pointerup' && pointer && pointer.moved <= 3) {
          const found = track.at(event.offsetX, event.offsetY, this.view);
          this.tell(found);
          this.choose(found ? found.span.digest : 0);
        }
      };
      canvas.addEventListener('pointerup', end);
      canvas.addEventListener('pointercancel', end);
      canvas.addEventListener('keydown', event => {
        const actions = {
          '+': () => this.zoom(2), '=': () => this.zoom(2), '-': () => this.zoom(1 / 2),
          '0': () => this.reset(), ArrowLeft: () => this.move(-0.2),
          ArrowRight: () => this.move(0.2), Escape: () => this.choose(0),
        };
        const action = event.ctrlKey || event.metaKey ? null : actions[event.key];
        if (action) {
          event.preventDefault();
          action();
        }
      });
    }

    // One of two fingers went from `before` to `now`: what is below each stays below it.
    pinch(other, before, now, width) {
      const {from, to} = this.view;
      const old = Math.abs(before - other), wide = Math.abs(now - other);
      if (old < 4 || wide < 4) return;
      const time = from + other / width * (to - from), length = (to - from) * old / wide;
      this.show(time - other / width * length, time + (1 - other / width) * length);
    }
  }

  for (const figure of document.querySelectorAll('.timelines')) {
    new Timelines(figure, data.programs[figure.dataset.program]);
  }
})();
