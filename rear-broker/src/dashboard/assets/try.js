// Try a request without locking anything: the ranking, with each part of the score, or what is lacking.

import * as broker from "./broker.js";
import { badge, clusterLink, fill, h, table } from "./dom.js";
import { DIMENSIONS } from "./format.js";

const FIELDS = [
  ["onBehalfOf", "Requester", "", "someone"],
  ["cpu", "CPU", "1", "2 or 500m"],
  ["memory", "Memory", "1Gi", "4Gi"],
  ["gpu", "GPU", "", "0"],
  ["storage", "Storage", "", "10Gi"],
  ["duration", "Duration", "", "1h30m"],
  ["targetClusterID", "On this cluster only", "", ""],
];

function form(onSubmit) {
  const inputs = FIELDS.map(([name, label, value, placeholder]) => h("label", {}, h("span", {}, label),
    h("input", { name, value, placeholder, autocomplete: "off", spellcheck: "false", required: ["cpu", "memory"].includes(name) })));
  const strategies = ["", "headroom", "balanced", "cheapest", "binpack"];
  const strategy = h("label", {}, h("span", {}, "Strategy"), h("select", { name: "strategy" }, strategies.map((name) => h("option", { value: name }, name || "the broker's"))));
  return h("form", { class: "filters", onsubmit: onSubmit }, inputs, strategy, h("button", { type: "submit" }, "Try"));
}

function request(data) {
  const given = (name) => data.get(name)?.trim() || undefined;
  const amounts = Object.keys(DIMENSIONS).map((name) => [name, given(name)]).filter(([, value]) => value);
  return {
    requestedResources: Object.fromEntries(amounts), duration: given("duration"), strategy: given("strategy"),
    targetClusterID: given("targetClusterID"), onBehalfOf: given("onBehalfOf"),
  };
}

function ranking({ target, candidates }) {
  const parts = ["cpu", "memory", "gpu", "storage", "cost"].filter((name) => candidates.some((candidate) => candidate.parts?.[name] !== undefined));
  const lacking = (candidate) => [candidate.reason, candidate.dimension && `${candidate.dimension}: ${candidate.requested} asked, ${candidate.available} free`].filter(Boolean).join(" — ");
  const columns = [
    { title: "Cluster", cell: (candidate) => clusterLink(candidate.clusterID) },
    { title: "Fits", cell: (candidate) => (candidate.clusterID === target ? badge("chosen") : candidate.fits ? "yes" : "no") },
    { title: "Score", number: true, cell: (candidate) => candidate.score ?? "" },
    ...parts.map((name) => ({ title: name, number: true, cell: (candidate) => candidate.parts?.[name] ?? "" })),
    { title: "What is lacking", cell: (candidate) => (candidate.fits ? "" : lacking(candidate)) },
  ];
  const verdict = target ? ["It would be granted on ", clusterLink(target), "."] : ["Nobody has room for it."];
  return [h("p", { class: "verdict", role: "status" }, ...verdict), table("Ranking", columns, candidates, "No cluster was considered.")];
}

export function page(main) {
  const answer = h("div", { "aria-live": "polite" });
  const ask = async (event) => {
    event.preventDefault();
    try {
      fill(answer, ranking(await broker.dryRun(request(new FormData(event.target)))));
    } catch (error) {
      fill(answer, h("p", { class: "wrong", role: "alert" }, error.message));
    }
  };
  fill(main, h("h1", {}, "Try a request"), h("p", {}, "Nothing is locked: the broker says what it would do at this moment, and why."), form(ask), answer);
  return async () => {};
}
