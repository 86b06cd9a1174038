// Elements from data. Texts are only ever set as texts: whatever a cluster calls itself stays a name.

const SVG = "http://www.w3.org/2000/svg";

/** An element with attributes and children; `undefined` attributes and children are left out. */
export function h(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** The same for pictures. */
export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== undefined && child !== null));
  return element;
}

/** A table with a caption; each column is `{ title, cell, number }`. */
export function table(caption, columns, rows, empty) {
  const head = columns.map((column) => h("th", { scope: "col", class: column.number && "number" }, column.title));
  const cells = (row) => columns.map((column) => h("td", { class: column.number && "number", "data-title": column.title }, column.cell(row)));
  const body = rows.map((row) => h("tr", {}, cells(row)));
  if (rows.length === 0) body.push(h("tr", {}, h("td", { colspan: columns.length, class: "faint" }, empty)));
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h("table", {}, h("caption", {}, caption), h("thead", {}, h("tr", {}, head)), h("tbody", {}, body)));
}

/** Keeps what someone is typing: only this part of the page is made anew. */
export function fill(place, ...children) {
  place.replaceChildren(...children.flat().filter((child) => child !== undefined));
}

export const clusterLink = (id) => h("a", { href: `#/clusters/${encodeURIComponent(id)}` }, id);
export const reservationLink = (id) => h("a", { href: `#/reservations/${encodeURIComponent(id)}`, class: "id" }, id);
/** A state in a word; what is fresh is ready, as people say it. */
export const badge = (word) => h("span", { class: `badge ${word.toLowerCase()}` }, word === "fresh" ? "ready" : word);
