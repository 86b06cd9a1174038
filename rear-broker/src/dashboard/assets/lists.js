// Lists that are searched by the broker: what is shown is the beginning of what was found.

import * as broker from "./broker.js";
import { badge, clusterLink, fill, h, reservationLink, table } from "./dom.js";
import { DIMENSIONS, date, digits, distance, resources } from "./format.js";
import { bar } from "./overview.js";

function field(label, control) {
  return h("label", {}, h("span", {}, label), control);
}

function choice(name, options, chosen) {
  return h("select", { name }, options.map(([value, text]) => h("option", { value, selected: value === chosen }, text)));
}

/** A form whose contents are the query, and a place for what was found. */
function searchable(main, title, fields, query, find) {
  const form = h("form", { class: "filters", role: "search", "aria-label": title }, fields);
  const [found, summary] = [h("div"), h("p", { class: "faint", role: "status" })];
  fill(main, h("h1", {}, title), form, summary, found);
  const search = form.elements.namedItem("search");
  search.value = query.get("search") ?? "";
  let asked = 0;
  const refresh = async () => {
    const turn = ++asked;
    const wanted = [...new FormData(form)].filter(([, value]) => value !== "");
    const { text, content } = await find(Object.fromEntries(wanted));
    // An answer that was overtaken by a newer question is not shown.
    if (turn !== asked) return;
    summary.textContent = text;
    if (!found.contains(document.activeElement)) fill(found, content);
  };
  form.addEventListener("input", refresh);
  form.addEventListener("submit", (event) => event.preventDefault());
  return refresh;
}

const searchField = (label) => field(label, h("input", { name: "search", type: "search", autocomplete: "off", spellcheck: "false" }));

export function clusters(main, { query, now }) {
  const states = [["", "all"], ["fresh", "ready"], ["stale", "stale"], ["overcommitted", "overcommitted"], ["recovering", "recovering"], ["silent", "only asking"]];
  const fields = [
    searchField("Name or label"),
    field("State", choice("state", states, query.get("state") ?? "")),
    field("Order", choice("sort", [["name", "by name"], ["free", "most room first"], ["lends", "most lent first"]], query.get("sort") ?? "name")),
  ];
  const amounts = (name) => ({ title: DIMENSIONS[name].title, dimension: name, cell: (row) => (row[name] ? [bar(name, row[name]), h("small", {}, `${DIMENSIONS[name].text(row[name].free)} free`)] : "") });
  const columns = [
    { title: "Cluster", cell: (row) => [clusterLink(row.id), row.name && row.name !== row.id ? h("small", {}, row.name) : undefined].filter(Boolean) },
    { title: "State", cell: (row) => badge(row.state) },
    amounts("cpu"), amounts("memory"), amounts("gpu"),
    { title: "Lends", number: true, cell: (row) => digits(row.lends) },
    { title: "Borrows", number: true, cell: (row) => digits(row.borrows) },
    { title: "Heard", cell: (row) => (row.receivedAt ? distance(row.receivedAt, now()) : "") },
  ];
  return searchable(main, "Clusters", fields, query, async (wanted) => {
    const found = await broker.clusters(wanted);
    const text = found.rows.length < found.matching
      ? `The first ${digits(found.rows.length)} of ${digits(found.matching)} that match, of ${digits(found.all)} in all: search for less.`
      : `${digits(found.matching)} of ${digits(found.all)}`;
    const known = columns.filter((column) => column.dimension === undefined || found.rows.some((row) => row[column.dimension]));
    return { text, content: table("Clusters", known, found.rows, "No cluster matches.") };
  });
}

export function reservationColumns(now) {
  return [
    { title: "Reservation", cell: (row) => reservationLink(row.id) },
    { title: "Phase", cell: (row) => badge(row.status.phase) },
    { title: "Requester", cell: (row) => clusterLink(row.requesterID) },
    { title: "Provider", cell: (row) => clusterLink(row.targetClusterID) },
    { title: "What", cell: (row) => resources(row.requestedResources) },
    { title: "Since", cell: (row) => date(row.status.reservedAt ?? row.createdAt) },
    { title: "Ends", cell: (row) => end(row, now()) },
  ];
}

/** Until when it counts; what has ended does not end any more. */
function end({ status }, now) {
  if (!["Reserved", "Active"].includes(status.phase)) return "has ended";
  return status.expiresAt ? distance(status.expiresAt, now) : "when given back";
}

export function reservations(main, { query, now }) {
  const phases = [["", "all"], ...["Reserved", "Active", "Released", "Failed"].map((phase) => [phase, phase])];
  const fields = [searchField("Cluster or reservation"), field("Phase", choice("phase", phases, query.get("phase") ?? ""))];
  return searchable(main, "Reservations", fields, query, async (wanted) => {
    const found = await broker.reservations(wanted);
    const text = found.rows.length < found.matching ? `The newest ${digits(found.rows.length)} of ${digits(found.matching)}: search for less.` : `${digits(found.matching)} found`;
    return { text, content: table("Reservations, newest first", reservationColumns(now), found.rows, "No reservation matches.") };
  });
}
