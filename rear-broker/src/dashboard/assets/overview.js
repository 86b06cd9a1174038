// At a glance: how much there is, what is wrong, who borrows from whom, what just happened.

import * as broker from "./broker.js";
import { clusterLink, fill, h, reservationLink } from "./dom.js";
import { flows } from "./flows.js";
import { DIMENSIONS, clock, digits, percent } from "./format.js";

/** Amounts as a bar: in use, kept aside, free. */
export function bar(dimension, amounts) {
  const { text } = DIMENSIONS[dimension];
  const label = `${DIMENSIONS[dimension].title}: ${text(amounts.inUse)} in use, ${text(amounts.keptAside)} kept aside, ${text(amounts.free)} free of ${text(amounts.allocatable)}`;
  const piece = (name, amount) => {
    const element = h("span", { class: name });
    element.style.width = `${percent(amount, amounts.allocatable)}%`;
    return element;
  };
  return h("span", { class: "bar", role: "img", "aria-label": label, title: label },
    piece("in-use", amounts.inUse), piece("kept-aside", amounts.keptAside));
}

function capacity(sums) {
  const card = ([dimension, amounts]) => {
    const { title, text } = DIMENSIONS[dimension];
    return h("li", { class: "card" },
      h("h3", {}, title),
      h("p", { class: "big" }, text(amounts.free), h("small", {}, ` free of ${text(amounts.allocatable)}`)),
      bar(dimension, amounts),
      h("dl", { class: "legend" },
        h("dt", { class: "in-use" }, "in use"), h("dd", {}, text(amounts.inUse)),
        h("dt", { class: "kept-aside" }, "kept aside"), h("dd", {}, text(amounts.keptAside)),
        h("dt", {}, "promised in all"), h("dd", {}, text(amounts.reserved))));
  };
  const known = Object.keys(DIMENSIONS).filter((dimension) => sums[dimension]).map((dimension) => [dimension, sums[dimension]]);
  return h("ul", { class: "cards" }, known.map(card));
}

function counts({ clusters, reservations }) {
  const tile = (number, word, address) => h("li", {}, h("a", { href: address }, h("strong", {}, digits(number)), ` ${word}`));
  const nobody = clusters.all === 0
    ? h("p", {}, "No cluster has advertised yet: issue one a certificate with ", h("code", {}, "rear-broker certs issue NAME"), " and start its agent.") : undefined;
  const tiles = h("ul", { class: "tiles" },
    tile(clusters.all, "clusters", "#/clusters"),
    tile(clusters.fresh, "ready", "#/clusters?state=fresh"),
    tile(clusters.stale, "stale", "#/clusters?state=stale"),
    tile(clusters.overcommitted, "overcommitted", "#/clusters?state=overcommitted"),
    tile(reservations.reserved, "reserved", "#/reservations?phase=Reserved"),
    tile(reservations.active, "active", "#/reservations?phase=Active"),
    tile(reservations.failed, "failed", "#/reservations?phase=Failed"));
  return [tiles, nobody].filter(Boolean);
}

function troubles(list) {
  if (list.length === 0) return h("p", { class: "well" }, "Nothing is wrong.");
  const named = (trouble) => trouble.clusters.flatMap((id, place) => [place ? ", " : "", clusterLink(id)]);
  return h("ul", { class: "troubles" }, list.map((trouble) => h("li", {},
    h("strong", {}, trouble.what), ". ", trouble.remedy, trouble.clusters.length ? h("span", {}, " ", ...named(trouble)) : undefined,
    trouble.more ? ` and ${digits(trouble.more)} more` : undefined)));
}

function refusals(list) {
  if (list.length === 0) return h("p", { class: "faint" }, "Nothing was refused since the broker began.");
  return h("ol", { class: "feed" }, list.slice(0, 12).map((refused) => h("li", {},
    h("time", { datetime: refused.at }, clock(refused.at)), " ",
    h("strong", {}, `${refused.action}: ${refused.code}`), refused.by ? [" for ", clusterLink(refused.by)] : undefined,
    h("span", { class: "detail" }, refused.detail))));
}

/** One event in a line. */
export function line(event) {
  const { reservation } = event;
  const about = reservation
    ? [reservationLink(reservation.id), ` ${reservation.requesterID} on ${reservation.targetClusterID}`]
    : event.clusterID ? [clusterLink(event.clusterID)] : ["the whole fleet"];
  return h("li", {}, h("time", { datetime: event.at }, clock(event.at)), " ", h("strong", {}, event.reason ?? event.name), " ", ...about);
}

export function page(main, { events }) {
  const places = Object.fromEntries(["capacity", "counts", "wrong", "flows", "refused"].map((name) => [name, h("div")]));
  const feed = h("ol", { class: "feed", "aria-live": "polite", "aria-relevant": "additions" });
  fill(main,
    h("h1", {}, "How the fleet stands"),
    places.counts,
    h("section", { "aria-labelledby": "t-capacity" }, h("h2", { id: "t-capacity" }, "How much there is"), places.capacity),
    h("section", { "aria-labelledby": "t-wrong" }, h("h2", { id: "t-wrong" }, "What is wrong"), places.wrong),
    h("section", { "aria-labelledby": "t-flows" }, h("h2", { id: "t-flows" }, "Who borrows from whom"), places.flows),
    h("div", { class: "columns" },
      h("section", { "aria-labelledby": "t-now" }, h("h2", { id: "t-now" }, "What happened just now"), feed),
      h("section", { "aria-labelledby": "t-refused" }, h("h2", { id: "t-refused" }, "What was refused lately"), places.refused)));
  const empty = h("li", { class: "faint" }, "Nothing yet: events appear here as they happen.");
  let told = "";
  return async () => {
    const seen = await broker.overview();
    fill(places.capacity, capacity(seen.sums));
    fill(places.counts, counts(seen));
    fill(places.wrong, troubles(seen.troubles));
    fill(places.flows, flows(seen.flows, seen.moreFlows));
    fill(places.refused, refusals(seen.refused));
    // What happened before the page was opened.
    if (events.length === 0) events.push(...seen.events);
    const newest = events[0]?.id ?? "none";
    if (newest !== told) {
      told = newest;
      fill(feed, events.length ? events.map(line) : empty);
    }
    return seen;
  };
}
