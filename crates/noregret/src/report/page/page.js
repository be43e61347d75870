"use strict";
// Draws the charts of a page from the JSON object in it. The data is under #data, the charts go to #charts.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const colours = ["#2f7ed8", "#d95f02", "#1b9e77", "#c2339b", "#8d6e00", "#6a51c7", "#d62728", "#17899b", "#5a8f29", "#7f7f7f"];
  const runs = data.runs.map((run, k) => ({ ...run, colour: colours[k % colours.length], on: true }));
  const element = (tag, attributes = {}, ...children) => {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  };
  const number = (v, digits = 6, round = Math.round) => {
    if (v === null || v === undefined || Number.isNaN(v)) return "–";
    const size = Math.abs(v);
    if (size >= 1e6 || (size !== 0 && size < 1e-4)) {
      const unit = 10 ** (Math.floor(Math.log10(size)) - 3);
      return (round(v / unit) * unit).toExponential(3);
    }
    const places = size >= 1000 ? 1 : digits;
    return (round(v * 10 ** places) / 10 ** places).toFixed(places);
  };
  // What is claimed is rounded so that it stays true.
  const atLeast = v => number(v, 6, Math.floor);
  const atMost = v => number(v, 6, Math.ceil);
  const tick = v => (v === null ? "" : Math.abs(v) >= 1e4 || (v !== 0 && Math.abs(v) < 1e-3) ? v.toExponential(0).replace("e+", "e") : String(+v.toPrecision(4)));

  const system = matchMedia("(prefers-color-scheme: dark)");
  let theme = null;
  const dark = () => (theme ?? (system.matches ? "dark" : "light")) === "dark";

  // One x for all series of a chart: the union, with gaps where a series has no point.
  const align = series => {
    const xs = [...new Set(series.flatMap(s => s.points.map(p => p[0])))].sort((a, b) => a - b);
    const at = new Map(xs.map((x, k) => [x, k]));
    return [xs, ...series.map(s => {
      const column = new Array(xs.length).fill(null);
      for (const [x, y] of s.points) column[at.get(x)] = y;
      return column;
    })];
  };
  const positive = (points, log) => points.filter(p => p[1] !== null && p[1] !== undefined && Number.isFinite(p[1]) && (!log || p[1] > 0));
  const last = run => (run.history ?? []).at(-1)?.examples ?? run.examples;
  // The first examples would flatten all that follows: a thousandth of the stream is left out.
  const history = (run, pick) => (run.history ?? []).filter(row => row.examples * 1000 >= last(run)).map(row => [row.examples, pick(row)]);

  const charts = [];
  const chart = (title, caption, x, y, series) => {
    series = series.map(s => ({ ...s, points: positive(s.points, y.log) })).filter(s => s.points.length > 0);
    if (series.length > 0) charts.push({ title, caption, x, y, series });
  };
  const T = { label: "examples", log: true };
  const lines = pick => runs.map((run, k) => ({ name: run.name, run: k, points: history(run, pick), colour: run.colour }));

  chart("Average loss over time",
    "Solid: average loss so far. Dashed: no comparator can have lost less (certified in one pass). Dotted: the best in hindsight (audited).",
    T, { label: "average loss" },
    runs.flatMap((run, k) => {
      const best = run.audit?.best;
      const first = history(run, () => 0)[0]?.[0] ?? 1;
      return [
        // Against penalised comparators the run's own loss counts with its penalty.
        run.certificate?.comparator === "ridge"
          ? { name: run.name + ", with its penalty", run: k, points: history(run, r => r.penalised_loss), colour: run.colour }
          : { name: run.name, run: k, points: history(run, r => r.average_loss), colour: run.colour },
        { name: run.name + ": best at least", run: k, points: history(run, r => r.best_at_least), colour: run.colour, dash: [6, 4] },
        ...(best ? [{ name: run.name + ": audited best", run: k, points: [[first, best.at_most], [last(run), best.at_most]], colour: run.colour, dash: [2, 3] }] : []),
      ];
    }));

  const regrets = runs.flatMap((run, k) => [
    { name: run.name + ": certified", run: k, points: history(run, r => r.regret_at_most * r.examples), colour: run.colour },
    { name: run.name + ": theorem", run: k, points: history(run, r => r.bound === null ? null : r.bound * r.examples), colour: run.colour, dash: [6, 4] },
    ...(run.audit?.regret ? [{ name: run.name + ": audited", run: k, points: [[last(run), run.audit.regret.at_most]].map(p => [p[0], p[1] * p[0]]), colour: run.colour, dots: true }] : []),
  ]);
  const anchor = regrets.map(s => positive(s.points, true).at(-1)).filter(p => p).sort((a, b) => a[1] - b[1])[0];
  if (anchor) {
    const xs = [...new Set(runs.flatMap(run => history(run, () => 0).map(p => p[0])))].filter(x => x >= 2 && x <= anchor[0]).sort((a, b) => a - b);
    regrets.push({ name: "slope √T", points: xs.map(x => [x, anchor[1] * Math.sqrt(x / anchor[0])]), colour: "#888", dash: [1, 3] });
    regrets.push({ name: "slope ln T", points: xs.map(x => [x, anchor[1] * Math.log(x) / Math.log(anchor[0])]), colour: "#888", dash: [8, 3, 1, 3] });
  }
  chart("Regret against its bound",
    "Total regret. Solid: at most this, certified. Dashed: at most this, by the learner's theorem. Grey: how √T and ln T grow.",
    T, { label: "total regret", log: true }, regrets);
  chart("Norm of the model", "Euclidean norm of the weights, the bias included.", T, { label: "norm" }, lines(r => r.model_norm ?? null));
  chart("Error rate", "Part of wrong labels so far, each predicted before it was seen.", T, { label: "error rate" }, lines(r => r.error_rate));
  // Of one part, the whole stream, there is nothing to compare.
  const since = (run, key) => ((run.windows ?? []).length > 1 ? run.windows : []).map(w => [w.from, w[key]]);
  chart("Since when?",
    "For every start, the examples since then alone. Solid: average loss. Dashed: no fixed model can have lost less on them (certified). A solid line that sinks below where the dashed one begins: no one model does as well on the whole as this run on its end.",
    { label: "since example" }, { label: "average loss" },
    runs.flatMap((run, k) => [
      { name: run.name, run: k, points: since(run, "average_loss"), colour: run.colour },
      { name: run.name + ": best at least", run: k, points: since(run, "best_at_least"), colour: run.colour, dash: [6, 4] },
    ]));
  const curve = data.audit?.curve ?? [];
  if (curve.length > 1) {
    const certified = runs[0]?.certificate?.curve ?? [];
    chart("Best loss against U", "The least average loss of any model of norm at most U, bracketed; dashed: what one pass had certified.",
      { label: "U", log: true }, { label: "average loss" }, [
        { name: "at most", points: curve.map(c => [c.radius, c.best.at_most]), colour: colours[0] },
        { name: "at least", points: curve.map(c => [c.radius, c.best.at_least]), colour: colours[1], dash: [4, 3] },
        { name: "certified in one pass", points: certified.map(c => [c.radius, c.best_at_least]), colour: colours[2], dash: [6, 4] },
      ]);
  }

  const drawn = [];
  const draw = () => {
    const place = document.getElementById("charts");
    drawn.splice(0).forEach(d => d.plot.destroy());
    place.replaceChildren();
    const ink = getComputedStyle(root).getPropertyValue("--ink").trim();
    const rule = getComputedStyle(root).getPropertyValue("--rule").trim();
    const figures = charts.map((c, k) => element("figure", { "aria-labelledby": "chart-" + k, role: "group" },
      element("h2", { id: "chart-" + k }, c.title), element("div"), element("figcaption", {}, c.caption)));
    place.append(...figures);
    for (const [k, c] of charts.entries()) {
      const figure = figures[k], box = figure.querySelector("div");
      const axis = (label, log) => ({
        label, stroke: ink, grid: { stroke: rule, width: 1 }, ticks: { stroke: rule, width: 1 }, size: 56, labelSize: 22,
        values: (_, splits) => splits.map(v => (log && v !== null && Math.log10(v) % 1 !== 0 && splits.length > 12 ? "" : tick(v))),
      });
      const plot = new uPlot({
        width: Math.max(260, box.clientWidth),
        height: Math.min(360, Math.max(240, figure.clientWidth * 0.6)),
        scales: { x: { time: false, distr: c.x.log ? 3 : 1 }, y: { distr: c.y.log ? 3 : 1 } },
        axes: [{ ...axis(c.x.label, c.x.log), size: 40 }, axis(c.y.label, c.y.log)],
        cursor: { drag: { x: true, y: true, uni: 20 } },
        series: [
          { label: c.x.label, value: (_, v) => (v === null ? "" : String(+v.toPrecision(8))) },
          ...c.series.map(s => ({
            label: s.name, stroke: s.colour, width: s.dash ? 1.5 : 2, dash: s.dash, spanGaps: true,
            points: { show: s.dots || s.points.length < 3, size: 8 }, show: s.run === undefined || runs[s.run].on,
            value: (_, v) => number(v),
          })),
        ],
      }, align(c.series), box);
      drawn.push({ plot, chart: c, figure });
    }
    root.dataset.charts = String(drawn.length);
  };

  const switches = () => {
    const place = document.getElementById("runs");
    if (runs.length < 2) { place.hidden = true; return; }
    runs.forEach((run, k) => {
      const box = element("input", { type: "checkbox", "data-run": k });
      box.checked = true;
      box.addEventListener("change", () => {
        run.on = box.checked;
        for (const { plot, chart } of drawn) chart.series.forEach((s, j) => { if (s.run === k) plot.setSeries(j + 1, { show: run.on }); });
      });
      const swatch = element("span", { class: "swatch", style: "background:" + run.colour });
      place.append(element("label", {}, box, swatch, run.name));
    });
  };

  const table = () => {
    const heads = ["learner", "loss", "average loss", "best at least", "regret at most", "bound", "audited best", "error rate", "examples/s"];
    const cells = run => [run.name, run.loss, number(run.average_loss), atLeast(run.certificate?.best_at_least), atMost(run.certificate?.regret_at_most),
      atMost(run.bound?.regret_at_most), atMost(run.audit?.best?.at_most), number(run.error_rate, 4),
      number(run.examples_per_second ?? (run.seconds > 0 ? run.examples / run.seconds : null), 0)];
    const line = (tag, items) => element("tr", {}, ...items.map(i => element(tag, tag === "th" ? { scope: "col" } : {}, i)));
    if (runs.length === 0) return;
    document.getElementById("table").append(element("table", {}, element("thead", {}, line("th", heads)), element("tbody", {}, ...runs.map(r => line("td", cells(r))))));
    const verdicts = runs.filter(r => r.verdict);
    if (verdicts.length === 1) document.getElementById("table").append(element("p", {}, verdicts[0].verdict));
  };

  const shade = () => { root.dataset.theme = dark() ? "dark" : "light"; draw(); };
  document.getElementById("theme").addEventListener("click", () => { theme = dark() ? "light" : "dark"; shade(); });
  system.addEventListener("change", shade);
  let width = innerWidth;
  addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; draw(); } });
  switches();
  table();
  shade();
})();
