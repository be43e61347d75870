// The curves, by uPlot. A chart is made once and given new data as examples come in.
import { number, tick } from "./format.js";

const charts = new Map();
const style = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const options = (box, chart) => {
  const ink = style("--ink"), rule = style("--rule");
  const axis = (label, log) => ({
    label, stroke: ink, grid: { stroke: rule, width: 1 }, ticks: { stroke: rule, width: 1 }, labelSize: 20,
    values: (_, splits) => splits.map(v => (log && v !== null && Math.log10(v) % 1 !== 0 && splits.length > 8 ? "" : tick(v))),
  });
  const x = axis(chart.x.label, chart.x.log);
  if (chart.x.time) delete x.values;
  return {
    width: Math.max(240, box.clientWidth), height: 250,
    scales: { x: { time: !!chart.x.time, distr: chart.x.log ? 3 : 1 }, y: { distr: chart.y.log ? 3 : 1 } },
    axes: [{ ...x, size: 36 }, { ...axis(chart.y.label, chart.y.log), size: 58 }],
    cursor: { drag: { x: true, y: false } },
    series: [
      { label: chart.x.label, value: chart.x.time ? undefined : (_, v) => (v === null ? "" : String(+v.toPrecision(8))) },
      ...chart.series.map((s, k) => ({
        label: s.name, stroke: style(k === 0 ? "--mark" : "--second"), width: 2, dash: s.dashed ? [6, 4] : undefined, spanGaps: true,
        points: { show: chart.rows.length < 3, size: 7 }, value: (_, v) => number(v),
      })),
    ],
  };
};

// Draws `chart`: { x: {label, log, time}, y: {label, log}, series: [{name, dashed, pick}], rows, at } into the element `id`.
export const draw = (id, chart) => {
  const box = document.getElementById(id);
  const rows = chart.rows.filter(row => Number.isFinite(chart.at(row)) && (!chart.x.log || chart.at(row) > 0));
  const clean = v => (v === null || v === undefined || !Number.isFinite(v) || (chart.y.log && v <= 0) ? null : v);
  const data = [rows.map(chart.at), ...chart.series.map(s => rows.map(row => clean(s.pick(row))))];
  const empty = data.slice(1).every(column => column.every(v => v === null));
  const kind = JSON.stringify([chart.x, chart.y, chart.series.map(s => s.name), empty, rows.length < 3, box.clientWidth]);
  const last = rows.at(-1);
  box.setAttribute("aria-label", empty ? "Nothing to draw yet." : chart.series.map(s => s.name + ": " + number(last && s.pick(last))).join("; "));
  const before = charts.get(id);
  if (before?.kind === kind) {
    before.chart = chart;
    before.plot?.setData(data);
    return;
  }
  before?.plot?.destroy();
  box.replaceChildren();
  box.classList.toggle("none", empty);
  if (empty) {
    const note = document.createElement("p");
    note.className = "faint";
    note.textContent = chart.nothing ?? "Nothing to draw yet.";
    box.append(note);
  }
  charts.set(id, { kind, chart, plot: empty ? null : new uPlot(options(box, { ...chart, rows }), data, box) });
};

// After a change of colours or of the window's width.
export const redraw = () => {
  for (const [id, { chart, plot }] of [...charts]) {
    plot?.destroy();
    charts.delete(id);
    draw(id, chart);
  }
};
