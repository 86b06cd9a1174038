// One cluster, one reservation: what it is, what belongs to it, what happened to it.

import * as broker from "./broker.js";
import { badge, clusterLink, fill, h, table } from "./dom.js";
import { DIMENSIONS, date, distance, resources } from "./format.js";
import { reservationColumns } from "./lists.js";
import { bar, line } from "./overview.js";

function facts(list) {
  const known = list.filter(([, value]) => value !== undefined && value !== "");
  return h("dl", { class: "facts" }, known.flatMap(([term, value]) => [h("dt", {}, term), h("dd", {}, value)]));
}

function feed(events, about) {
  const own = events.filter(about);
  return own.length ? h("ol", { class: "feed" }, own.map(line)) : h("p", { class: "faint" }, "Nothing lately.");
}

export function cluster(main, { id, events, now }) {
  const content = h("div");
  fill(main, h("h1", {}, id), content);
  return async () => {
    const [list, told, lent, borrowed] = await Promise.all([
      broker.clusters({ id }), broker.cluster(id).catch(() => undefined),
      broker.reservations({ provider: id, live: true }), broker.reservations({ requester: id, live: true }),
    ]);
    const [row] = list.rows;
    if (!row) return fill(content, h("p", {}, "There is no such cluster."));
    const promises = (found, caption, none) => [
      found.matching > found.rows.length ? h("p", { class: "faint" }, `The newest ${found.rows.length} of ${found.matching}`) : undefined,
      table(caption, reservationColumns(now), found.rows, none),
    ];
    const bars = Object.keys(DIMENSIONS).filter((name) => row[name]).map((name) => h("li", { class: "card" },
      h("h3", {}, DIMENSIONS[name].title), bar(name, row[name]), h("p", {}, `${DIMENSIONS[name].text(row[name].free)} free of ${DIMENSIONS[name].text(row[name].allocatable)}`)));
    const labels = Object.entries(told?.labels ?? {}).map(([key, value]) => `${key}=${value}`).join(", ");
    const cost = told?.cost && `${told.cost.cpuCost} for a core, ${told.cost.memoryCost} for a GiB, an hour, in ${told.cost.currency}`;
    fill(content,
      facts([["State", badge(row.state)], ["Name", row.name], ["Score", row.score ?? ""], ["Last heard", row.receivedAt ? distance(row.receivedAt, now()) : "never"], ["Labels", labels], ["Cost", cost ?? ""]]),
      h("section", {}, h("h2", {}, "How much it has"), bars.length ? h("ul", { class: "cards" }, bars) : h("p", { class: "faint" }, "It has not advertised.")),
      h("section", {}, h("h2", {}, "Lends"), promises(lent, "Live promises of this cluster", "It lends nothing.")),
      h("section", {}, h("h2", {}, "Borrows"), promises(borrowed, "Live promises to this cluster", "It borrows nothing.")),
      h("section", {}, h("h2", {}, "What happened"), feed(events, (event) => event.clusterID === id || event.reservation?.requesterID === id || event.reservation?.targetClusterID === id)));
  };
}

/** The life of a reservation, in the order in which it happens. */
function timeline(steps, now) {
  return h("ol", { class: "timeline" }, steps.map(({ what, at, done }) => h("li", { class: done ? "done" : "ahead" },
    h("strong", {}, what), h("span", {}, ` ${date(at)} (${distance(at, now())})`))));
}

export function reservation(main, { id, events, now }) {
  const content = h("div");
  fill(main, h("h1", { class: "id" }, id), content);
  return async () => {
    const [kept, steps] = await Promise.all([broker.reservation(id).catch((error) => error), broker.life(id)]);
    if (kept instanceof Error) return fill(content, h("p", {}, `There is no such reservation, or it is no longer remembered: ${kept.message}`));
    fill(content,
      facts([
        ["Phase", badge(kept.status.phase)], ["Message", kept.status.message], ["Requester", clusterLink(kept.requesterID)], ["Provider", clusterLink(kept.targetClusterID)],
        ["What", resources(kept.requestedResources)], ["Priority", `${kept.priority ?? 0}`], ["Duration", kept.duration ?? "until it is given back"],
      ]),
      h("section", {}, h("h2", {}, "Its life"), timeline(steps, now)),
      h("section", {}, h("h2", {}, "What happened"), feed(events, (event) => event.reservation?.id === id)));
  };
}
