// Numbers as people read them. What is claimed is rounded so that it stays true.
export const number = (v, digits = 4, round = Math.round) => {
  if (v === null || v === undefined || !Number.isFinite(v)) return "–";
  const size = Math.abs(v);
  if (size >= 1e7 || (size !== 0 && size < 1e-3)) {
    const unit = 10 ** (Math.floor(Math.log10(size)) - 2);
    return (round(v / unit) * unit).toExponential(2);
  }
  const places = size >= 1000 ? 1 : digits;
  return (round(v * 10 ** places) / 10 ** places).toFixed(places);
};
export const atLeast = v => number(v, 4, Math.floor);
export const atMost = v => number(v, 4, Math.ceil);
export const count = v => (v === null || v === undefined ? "–" : Math.round(v).toLocaleString("en"));
export const rate = v => (v === null || v === undefined ? "–" : (v < 10 ? v.toFixed(1) : count(v)) + "/s");
export const tick = v => {
  if (v === null) return "";
  const size = Math.abs(v);
  return size >= 1e4 || (v !== 0 && size < 1e-3) ? v.toExponential(0).replace("e+", "e") : String(+v.toPrecision(4));
};
export const moment = milliseconds => {
  const date = new Date(milliseconds);
  const today = new Date().toDateString() === date.toDateString();
  return today ? date.toLocaleTimeString() : date.toLocaleString();
};
export const element = (tag, attributes = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
};
