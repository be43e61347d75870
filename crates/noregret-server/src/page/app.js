// The page: which model is looked at, what is known of it, and the two forms.
import { atLeast, atMost, count, element, moment, number, rate } from "./format.js";
import { json, listen } from "./server.js";
import { draw, redraw } from "./charts.js";

const at = id => document.getElementById(id);
const root = document.documentElement;

// What is shown now. `points` are the curves; the last one may be a point of this moment that the next replaces.
let shown = null;
let models = [];

const path = (name, rest = "") => "/v1/models/" + encodeURIComponent(name) + rest;
const wanted = () => {
  try { return decodeURIComponent(location.hash.slice(1)); } catch { return ""; }
};

// ---- the list of models

const listModels = () => {
  const focused = document.activeElement?.closest?.("#models a")?.hash;
  at("models").replaceChildren(...models.map(m => {
    const words = m.state === "damaged" ? "cannot be read" : count(m.examples) + " examples, " + rate(m.examples_per_second);
    const link = element("a", { href: "#" + encodeURIComponent(m.name), class: m.state }, m.name, element("small", {}, words));
    if (m.name === shown?.name) link.setAttribute("aria-current", "page");
    return element("li", {}, link);
  }));
  if (focused) [...document.querySelectorAll("#models a")].find(a => a.hash === focused)?.focus();
};

const choose = () => {
  const name = models.some(m => m.name === wanted()) ? wanted() : models[0]?.name;
  at("empty").hidden = models.length > 0;
  if (models.length === 0) {
    at("first").textContent = `curl -X PUT ${location.origin}/v1/models/mine -d '{"loss": "logistic"}'\n`
      + `curl ${location.origin}/v1/models/mine/learn -H 'content-type: application/json' \\\n  -d '{"features": {"temperature": 21.5, "city": "Rome"}, "label": 1}'`;
  }
  if (name !== shown?.name) show(name);
};

listen("/v1/events", new AbortController().signal, (event, data) => {
  if (event === "up" || event === "down") {
    at("link").textContent = event === "up" ? "live" : "no answer; trying again";
    at("link").toggleAttribute("data-up", event === "up");
  }
  if (event !== "models") return;
  models = data.models;
  at("trouble").hidden = data.store === null;
  at("trouble").textContent = data.store === null ? "" : "The store cannot be written: " + data.store;
  choose();
  listModels();
});
// What is behind the # is the model: the link must not change it.
document.querySelector(".skip").addEventListener("click", event => { event.preventDefault(); at("main").focus(); });
addEventListener("hashchange", () => { choose(); listModels(); at("main").focus(); });

// ---- one model

const show = name => {
  shown?.end.abort();
  shown = null;
  at("model").hidden = true;
  const damaged = models.find(m => m.name === name && m.state === "damaged");
  if (damaged) {
    at("model").hidden = false;
    at("name").textContent = name;
    at("about").textContent = "";
    at("verdict").textContent = damaged.message;
    for (const part of document.querySelectorAll("#model > :not(header)")) part.hidden = true;
    shown = { name, end: new AbortController() };
    return;
  }
  if (!name) return;
  for (const part of document.querySelectorAll("#model > *")) part.hidden = false;
  const now = shown = { name, end: new AbortController(), points: [], live: null, told: null, since: [], fresh: -1, busy: false };
  for (const id of ["predict", "teach"]) at(id).reset();
  for (const id of ["predicted", "taught"]) at(id).textContent = "";
  listen(path(name, "/events"), now.end.signal, (event, data) => {
    if (shown !== now || event !== "model") return;
    now.live = data;
    addPoint(now, data.point);
    errors(data.errors);
    tiles(now);
    curves(now);
    refresh(now);
  });
};

// A point of this moment stays when as much has been learned since the last as the server itself would wait for.
const addPoint = (now, point) => {
  const kept = now.points.filter(p => !p.passing);
  const last = kept.at(-1);
  if (point.examples === 0 || point.examples === last?.examples) { now.points = kept; return; }
  const passing = last !== undefined && point.examples < last.examples + 1 + last.examples / 64 && point.time < last.time + 60000;
  now.points = [...kept, { ...point, passing }];
};

const SINCE = [["5 minutes", "5m"], ["1 hour", "1h"], ["1 day", "1d"], ["7 days", "7d"]];

// What takes the server some work is asked for every two seconds at most, and only when something was learned.
const refresh = async now => {
  if (now.busy || now.fresh === now.live.point.examples) return;
  now.busy = true;
  const first = now.fresh < 0;
  now.fresh = now.live.point.examples;
  try {
    const [told, history, ...since] = await Promise.all([
      json(path(now.name)), first ? json(path(now.name, "/history")) : null,
      ...SINCE.map(([, span]) => json(path(now.name, "/certificate?since=" + span))),
    ]);
    if (shown !== now) return;
    now.told = told;
    now.since = since;
    if (history) {
      now.points = history.points;
      addPoint(now, now.live.point);
    }
    describe(now);
    tiles(now);
    curves(now);
  } catch {
    now.fresh = -1;
  } finally {
    setTimeout(() => { now.busy = false; if (shown === now) refresh(now); }, 2000);
  }
};

const describe = now => {
  const told = now.told;
  at("model").hidden = false;
  at("name").textContent = now.name;
  const kind = told.features ? "features by " + told.features : "no features yet";
  const several = told.multiclass ? `${count(told.classes.length)} classes (${told.multiclass}), ` : "";
  at("about").textContent = `${several}${told.learner}, ${told.loss} loss, ${kind}, made ${moment(told.created)}`;
  at("verdict").textContent = told.verdict ?? "";
  const numbered = told.features === "numbers";
  // The heaviest of each name, as one would write them.
  const names = new Map();
  for (const { feature } of told.heaviest) {
    const equals = numbered ? -1 : feature.indexOf("=");
    const [name, value] = equals > 0 ? [feature.slice(0, equals), feature.slice(equals + 1)] : [feature, "1"];
    if (!names.has(name) && names.size < 4) names.set(name, value);
  }
  const hint = names.size > 0 ? [...names].map(([name, value]) => name + ": " + value).join("\n") : "temperature: 21.5\ncity: Rome";
  at("predict-features").placeholder = at("teach-features").placeholder = hint;
  const most = Math.max(...told.heaviest.map(f => Math.abs(f.weight)));
  at("no-weights").hidden = told.heaviest.length > 0;
  at("heaviest").hidden = told.heaviest.length === 0;
  at("heaviest").tBodies[0].replaceChildren(...told.heaviest.map(f => {
    const bar = element("div", { class: f.weight < 0 ? "bar minus" : "bar" });
    bar.style.width = 100 * Math.abs(f.weight) / most + "%";
    const feature = f.class === undefined ? f.feature : `${f.class}: ${f.feature}`;
    return element("tr", {}, element("td", {}, feature), element("td", {}, number(f.weight)), element("td", {}, bar));
  }));
  const rows = SINCE.map(([words], k) => [words, now.since[k]]);
  rows.push(["ever", { examples: told.examples, average_loss: told.average_loss, ...told.certificate }]);
  at("since").tBodies[0].replaceChildren(...rows.map(([words, c]) => element("tr", {},
    ...[words, count(c?.examples), number(c?.average_loss), atLeast(c?.best_at_least), atMost(c?.regret_at_most)].map(t => element("td", {}, t)))));
};

const tiles = now => {
  const { point, examples_per_second, pending } = now.live, told = now.told;
  const list = [
    ["examples", count(point.examples)],
    ["average loss", number(point.average_loss)],
    ["best in hindsight, at least", atLeast(point.best_at_least)],
    ["regret, at most", atMost(point.regret_at_most)],
    ["its bound", atMost(point.bound)],
    ["learned", rate(examples_per_second)],
    ["wrong labels", told?.error_rate === null || told === null ? "–" : number(100 * told.error_rate, 1) + " %"],
    ["waiting for labels", count(pending)],
  ];
  const radius = told?.certificate?.radius;
  at("tiles").replaceChildren(...list.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))));
  at("tiles").title = radius ? "against every model of norm at most " + number(radius) : "";
};

const curves = now => {
  const time = document.querySelector("input[name=axis]:checked").value === "time";
  const x = time ? { label: "time", time: true } : { label: "examples", log: true };
  const where = time ? p => p.time / 1000 : p => p.examples;
  const last = now.points.at(-1)?.examples ?? 0;
  // The first examples would flatten all that follows: a thousandth of the stream is left out.
  const rows = now.points.filter(p => p.examples * 1000 >= last);
  draw("loss", { x, y: { label: "average loss" }, rows, at: where, series: [
    { name: "average loss", pick: p => p.average_loss }, { name: "best, at least", dashed: true, pick: p => p.best_at_least }] });
  const bound = rows.some(p => p.bound !== null);
  const log = rows.every(p => (p.regret_at_most ?? 1) > 0 && (p.bound ?? 1) > 0);
  draw("regret", { x, y: { label: "average regret", log }, rows, at: where, series: [
    { name: "regret, at most", pick: p => p.regret_at_most }, ...(bound ? [{ name: "bound", dashed: true, pick: p => p.bound }] : [])] });
  const unmet = now.told?.bound?.unmet ?? [];
  at("regret-text").textContent = bound ? "Per example. Dashed: what the learner's theorem promises." :
    "Per example. The learner's theorem promises no number here" + (unmet.length > 0 ? ": " + unmet.join("; ") + "." : ".");
  // Of one part, the whole stream, there is nothing to compare.
  const windows = (now.told?.windows ?? []).length > 1 ? now.told.windows : [];
  const unrecorded = now.told && !now.told.windows;
  draw("windows", { x: { label: "since example" }, y: { label: "average loss" }, rows: windows, at: w => w.from, series: [
    { name: "average loss", pick: w => w.average_loss }, { name: "best, at least", dashed: true, pick: w => w.best_at_least }],
    nothing: now.told?.multiclass ? "A model of several classes keeps no record of its parts." : unrecorded
      ? "This model keeps no record of its parts (“windows” when it is made; up to 2^20 features)."
      : "One part so far: a part is at least half as long as there are features." });
  root.dataset.charts = String(document.querySelectorAll(".uplot").length);
};

const errors = list => {
  at("errors").replaceChildren(...(list.length === 0 ? [element("li", { class: "faint" }, "None since the server started.")] : list.map(e =>
    element("li", {}, element("time", { datetime: new Date(e.time).toISOString(), class: "faint" }, moment(e.time)), " ",
      element("code", {}, e.code), " ", e.message))));
};

// ---- the forms

// `name: value` a line, or a JSON object of them.
const features = text => {
  if (text.trim().startsWith("{")) return JSON.parse(text);
  const found = {};
  for (const line of text.split("\n").map(l => l.trim()).filter(l => l !== "")) {
    const colon = line.lastIndexOf(":");
    if (colon < 1) throw new Error(`“${line}”: expected a name, a colon and a value, such as temperature: 21.5`);
    found[line.slice(0, colon).trim()] = scalar(line.slice(colon + 1));
  }
  return found;
};
const scalar = text => (text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : text.trim());
const example = text => {
  const found = features(text);
  if (shown.told?.features !== "numbers") return { features: found };
  const pairs = Object.entries(found).map(([i, v]) => [Number(i), v]).sort((a, b) => a[0] - b[0]);
  return { indices: pairs.map(p => p[0]), values: pairs.map(p => p[1]) };
};

const form = (id, output, act) => at(id).addEventListener("submit", async event => {
  event.preventDefault();
  const out = at(output);
  try {
    const words = await act();
    out.className = "";
    out.textContent = words;
  } catch (error) {
    out.className = "bad";
    out.textContent = error.message;
  }
});

form("predict", "predicted", async () => {
  const { predictions: [p] } = await json(path(shown.name, "/predict"), { examples: [example(at("predict-features").value)], id: false });
  if (p.label === null) return "It has seen no label yet.";
  const of = p.classes ? "" : " of the positive class";
  const probability = p.probability === null ? "" : `, probability${of} ${number(p.probability)}`;
  const others = (p.classes ?? []).filter(c => c.label !== p.label).sort((a, b) => b.score - a.score).slice(0, 4);
  const words = others.length > 0 ? " Then " + others.map(c => `${c.label} (score ${number(c.score)})`).join(", ") + "." : "";
  return `Label ${p.label}, score ${number(p.score)}${probability}.${words}`;
});
form("teach", "taught", async () => {
  const taught = { ...example(at("teach-features").value), label: scalar(at("teach-label").value), weight: Number(at("teach-weight").value) };
  const told = await json(path(shown.name, "/learn"), { examples: [taught], predict: true });
  const [p] = told.predictions;
  const had = p.label === null ? "it had seen no label before" : `it had predicted ${p.label} (score ${number(p.score)})`;
  return `Learned: ${had}. ${count(told.examples)} examples by now.`;
});

// ---- looks

const system = matchMedia("(prefers-color-scheme: dark)");
let theme = null;
const shade = () => { root.dataset.theme = theme ?? (system.matches ? "dark" : "light"); redraw(); };
at("theme").addEventListener("click", () => { theme = root.dataset.theme === "dark" ? "light" : "dark"; shade(); });
system.addEventListener("change", shade);
for (const input of document.querySelectorAll("input[name=axis]")) input.addEventListener("change", () => { if (shown?.live) curves(shown); });
let width = innerWidth;
addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; redraw(); } });
shade();
