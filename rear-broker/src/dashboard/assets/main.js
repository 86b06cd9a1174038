// Which page is shown, and when it is read again.

import * as broker from "./broker.js";
import * as details from "./details.js";
import { fill, h } from "./dom.js";
import * as lists from "./lists.js";
import * as overview from "./overview.js";
import * as theme from "./theme.js";
import * as tryOut from "./try.js";

const REMEMBERED = 50;
/** However much happens, the page is read again no more often than this. */
const AT_MOST_EVERY = 1000;
/** Time passes also when nothing happens. */
const AT_LEAST_EVERY = 5000;

const main = document.getElementById("main");
const state = { events: [], now: () => new Date(Date.now() + state.ahead), ahead: 0 };
let refresh = async () => {};
let waiting;

function route() {
  const [path, query] = location.hash.replace(/^#/, "").split("?");
  const [, page = "", id] = path.split("/");
  return { page: page || "overview", id: id && decodeURIComponent(id), query: new URLSearchParams(query) };
}

function open() {
  if (location.hash === "#main") return main.focus();
  const { page, id, query } = route();
  const context = { ...state, id, query };
  const pages = {
    overview: overview.page,
    clusters: id ? details.cluster : lists.clusters,
    reservations: id ? details.reservation : lists.reservations,
    try: tryOut.page,
  };
  for (const link of document.querySelectorAll("nav a[data-page]")) {
    if (link.dataset.page === page) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const show = pages[page];
  refresh = show ? show(main, context) : async () => fill(main, h("h1", {}, "There is no such page"));
  document.title = `${main.querySelector("h1")?.textContent ?? "REAR"} — REAR broker`;
  return update();
}

async function update() {
  clearTimeout(waiting);
  waiting = undefined;
  try {
    const seen = (await refresh()) ?? undefined;
    if (seen?.revision) {
      document.getElementById("revision").textContent = `revision ${seen.revision}, version ${seen.version}`;
      state.ahead = new Date(seen.now) - Date.now();
    }
  } catch (error) {
    live("offline");
  }
  waiting ??= setTimeout(update, AT_LEAST_EVERY);
}

function soon() {
  if (soon.planned) return;
  soon.planned = setTimeout(() => {
    soon.planned = undefined;
    update();
  }, AT_MOST_EVERY);
}

function live(word) {
  const sign = document.getElementById("live");
  if (sign.textContent !== word) sign.textContent = word;
  sign.dataset.state = word;
}

/** What happened before the page was opened. */
async function remember() {
  const seen = await broker.overview();
  if (state.events.length === 0) state.events.push(...seen.events);
  soon();
}

theme.begin(document.getElementById("theme"));
addEventListener("hashchange", () => open().then(() => main.focus()));
broker.follow((event) => {
  state.events.unshift(event);
  state.events.length = Math.min(state.events.length, REMEMBERED);
  soon();
}, live);
open();
remember().catch(() => live("offline"));
