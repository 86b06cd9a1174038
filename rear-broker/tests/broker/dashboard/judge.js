// Returns a list of what is wrong for people who use a keyboard, a screen reader, large letters or few colours.

const found = [];
const visible = (element) => element.checkVisibility() && element.getClientRects().length > 0;
const all = (selector) => [...document.querySelectorAll(selector)].filter(visible);
const tell = (what, element) => found.push(`${what}: ${element.outerHTML.slice(0, 120)}`);
const name = (element) => (element.getAttribute("aria-label") ?? element.labels?.[0]?.textContent ?? element.textContent ?? "").trim();

if (!document.documentElement.lang) found.push("the page has no language");
if (!document.title) found.push("the page has no title");
for (const landmark of ["header", "nav", "main"]) {
  if (document.querySelectorAll(landmark).length !== 1) found.push(`not exactly one ${landmark}`);
}
if (all("h1").length !== 1) found.push("not exactly one h1");

let level = 0;
for (const heading of all("h1, h2, h3, h4")) {
  const next = Number(heading.tagName[1]);
  if (next > level + 1) tell("a level of headings is left out", heading);
  level = next;
}

const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) found.push(`the id ${id} is there twice`);
for (const element of document.querySelectorAll("[aria-labelledby]")) {
  if (!document.getElementById(element.getAttribute("aria-labelledby"))) tell("labelled by nothing", element);
}

for (const element of all("a[href], button, input, select, [role=img], [role=region]")) if (!name(element)) tell("it has no name", element);
for (const element of all("input, select")) if (!element.labels?.length) tell("it has no label", element);
for (const element of all("table")) {
  if (!element.caption) tell("a table without a caption", element);
  for (const cell of element.querySelectorAll("thead th")) if (cell.scope !== "col") tell("a heading of no column", cell);
}
for (const element of document.querySelectorAll("[tabindex]")) if (element.tabIndex > 0) tell("it changes the order of the focus", element);
if (document.documentElement.scrollWidth > innerWidth + 1) found.push(`wider than the window: ${document.documentElement.scrollWidth} of ${innerWidth}`);

// Contrast as WCAG counts it: 4.5 for texts, 3 for large ones.
const numbers = (colour) => (colour.match(/[\d.]+/g) ?? []).map(Number);
const light = ([red, green, blue]) => {
  const [r, g, b] = [red, green, blue].map((part) => part / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const ground = (element) => {
  for (let at = element; at; at = at.parentElement) {
    const colour = numbers(getComputedStyle(at).backgroundColor);
    if (colour.length === 3 || colour[3] === 1) return colour;
  }
  return [255, 255, 255];
};
for (const element of all("body *")) {
  const own = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim());
  if (!own || element.closest("svg") || element.tagName === "OPTION") continue;
  const style = getComputedStyle(element);
  const [a, b] = [light(numbers(style.color)), light(ground(element))].sort((x, y) => y - x);
  const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && Number(style.fontWeight) >= 700);
  const ratio = (a + 0.05) / (b + 0.05);
  if (ratio < (large ? 3 : 4.5)) tell(`a contrast of ${ratio.toFixed(2)}`, element);
}

return found;
