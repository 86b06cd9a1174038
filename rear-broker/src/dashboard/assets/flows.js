// Who borrows from whom: providers on the left, requesters on the right, ribbons as wide as what was promised.

import { clusterLink, h, svg, table } from "./dom.js";
import { DIMENSIONS, digits } from "./format.js";

const ROW = 30;
const SHOWN = 12;

/** Letters stay as large on a phone: the picture is narrower there, and names are shorter. */
const WIDE = { width: 760, box: 150, letters: 20 };
const NARROW = { width: 380, box: 115, letters: 14 };
const space = () => (window.matchMedia("(max-width: 40rem)").matches ? NARROW : WIDE);

/** The dimension that pictures are drawn by: processors, unless nobody was promised any. */
function weigh(list) {
  return list.some((flow) => flow.cpu > 0) ? (flow) => flow.cpu : (flow) => flow.memory;
}

/** The largest on one side, each with its place; the others share one. */
function side(list, name, weight) {
  const sums = new Map();
  for (const flow of list) sums.set(flow[name], (sums.get(flow[name]) ?? 0) + weight(flow));
  const names = [...sums].sort((a, b) => b[1] - a[1]).map(([id]) => id);
  const places = new Map(names.map((id, place) => [id, Math.min(place, SHOWN)]));
  return { places, rows: Math.min(names.length, SHOWN + 1), label: (place) => (place === SHOWN ? `${names.length - SHOWN} others` : names[place]) };
}

const middle = (place, rows, height) => (height * (place + 0.5)) / rows;

function ribbon(left, right, { width, box }, height, flow, weight, most) {
  const y1 = middle(left.places.get(flow.from), left.rows, height);
  const y2 = middle(right.places.get(flow.to), right.rows, height);
  const [x1, x2] = [box, width - box];
  const half = (x1 + x2) / 2;
  return svg("path", { class: "ribbon", d: `M${x1},${y1} C${half},${y1} ${half},${y2} ${x2},${y2}`, "stroke-width": 1.5 + (12 * weight(flow)) / most },
    svg("title", {}, `${flow.from} lends ${DIMENSIONS.cpu.text(flow.cpu)} and ${DIMENSIONS.memory.text(flow.memory)} to ${flow.to}`));
}

function boxes(places, letters, height, x, anchor) {
  return Array.from({ length: places.rows }, (_, place) => {
    const text = places.label(place);
    const shown = text.length > letters ? `${text.slice(0, letters - 1)}…` : text;
    return svg("text", { x, y: middle(place, places.rows, height), "text-anchor": anchor, "dominant-baseline": "middle" }, shown, svg("title", {}, text));
  });
}

function picture(list) {
  const { width, box, letters } = space();
  const weight = weigh(list);
  const most = Math.max(...list.map(weight), 1);
  const left = side(list, "from", weight);
  const right = side(list, "to", weight);
  const height = Math.max(left.rows, right.rows, 2) * ROW;
  const label = `${left.rows} providers lend to ${right.rows} requesters; the table below has the amounts`;
  return svg("svg", { class: "flows", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label },
    list.map((flow) => ribbon(left, right, { width, box }, height, flow, weight, most)),
    boxes(left, letters, height, box - 10, "end"), boxes(right, letters, height, width - box + 10, "start"));
}

export function flows(list, more) {
  if (list.length === 0) return h("p", { class: "faint" }, "Nobody borrows anything at the moment.");
  const amount = (dimension) => ({ title: DIMENSIONS[dimension].title, number: true, cell: (flow) => DIMENSIONS[dimension].text(flow[dimension]) });
  const columns = [
    { title: "Provider", cell: (flow) => clusterLink(flow.from) },
    { title: "Requester", cell: (flow) => clusterLink(flow.to) },
    ...["cpu", "memory", "gpu", "storage"].filter((name) => list.some((flow) => flow[name] > 0)).map(amount),
  ];
  const part = more ? h("p", { class: "faint" }, `The ${digits(list.length)} largest of ${digits(list.length + more)}.`) : "";
  return h("div", {}, part, picture(list),
    h("details", {}, h("summary", {}, "As a table"),
      table("Who borrows from whom", columns, list, "")));
}
